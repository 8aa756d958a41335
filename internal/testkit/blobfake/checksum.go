package blobfake

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/blobtest"
)

// SendsChecksums checks that an upload of one request and one in parts carry checksums by which the store can detect
// a body that arrived damaged. Matches compares the body of an upload's request with the checksum that the request
// has; told is false where it has none. Requests that are not uploads, and what they are answered, are the
// handler's.
func SendsChecksums(t *testing.T, open func(t *testing.T, handler http.HandlerFunc) blobio.Bucket,
	handler http.HandlerFunc, upload func(r *http.Request) bool, matches func(r *http.Request, body []byte) (told, same bool)) {
	t.Helper()
	var mu sync.Mutex
	uploads := 0
	bucket := open(t, func(w http.ResponseWriter, r *http.Request) {
		if upload(r) {
			body, err := io.ReadAll(r.Body)
			told, same := matches(r, body)
			if err != nil || !told || !same {
				t.Errorf("%s %s of %d bytes: checksum told %v, right %v, %v", r.Method, r.URL.RequestURI(), len(body), told, same, err)
			}
			mu.Lock()
			uploads++
			mu.Unlock()
		}
		handler(w, r)
	})
	for _, size := range []int{100, 17 << 20} {
		if err := blobtest.Put(t.Context(), bucket, "k", bytes.Repeat([]byte{1, 2, 3, 4, 5}, size/5)); err != nil {
			t.Error(err)
		}
	}
	if uploads < 4 {
		t.Errorf("%d uploads were seen, want one small and three parts", uploads)
	}
}
