package gcsblob

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/shardcat/shardcat/blobio/blobtest"
)

// TestUploadsCarryChecksums: GCS gets the CRC32C of an object with its content, and compares.
func TestUploadsCarryChecksums(t *testing.T) {
	const content = "123456789"
	const crc = "4waSgw==" // the check value of CRC-32C, 0xE3069283, big-endian in base64
	var told atomic.Bool
	b := stub(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		told.Store(strings.Contains(string(body), `"crc32c":"`+crc+`"`))
		fmt.Fprintf(w, `{"generation":"1","size":"%d","crc32c":%q}`, len(content), crc)
	}, "")
	if err := blobtest.Put(t.Context(), b, "k", []byte(content)); err != nil || !told.Load() {
		t.Errorf("told %v, %v", told.Load(), err)
	}
}
