package azblob

import (
	"crypto/md5"
	"encoding/base64"
	"net/http"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

func TestUploadsCarryChecksums(t *testing.T) {
	open := func(t *testing.T, handler http.HandlerFunc) blobio.Bucket { return stub(t, handler, "") }
	isUpload := func(r *http.Request) bool {
		return r.Method == http.MethodPut && r.URL.Query().Get("comp") != "blocklist"
	}
	blobfake.SendsChecksums(t, open, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }, isUpload,
		func(r *http.Request, body []byte) (told, same bool) {
			sum := md5.Sum(body)
			got := r.Header.Get("Content-Md5")
			return got != "", got == base64.StdEncoding.EncodeToString(sum[:])
		})
}
