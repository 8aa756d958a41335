package blobtest

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/shardcat/shardcat/blobio"
)

// AsksOnce checks that a read whose body breaks is one request that fails, in a way that may pass: who counts, paces
// and resumes requests is above the driver, and must see each. Open opens a bucket on a server that answers as handler
// does.
func AsksOnce(t *testing.T, open func(t *testing.T, handler http.HandlerFunc) blobio.Bucket) {
	t.Helper()
	var asked atomic.Int32
	bucket := open(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		h := w.Header()
		h.Set("Content-Length", "10")
		h.Set("Content-Range", "bytes 5-14/20")
		h.Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
		h.Set("ETag", `"1"`)
		w.WriteHeader(http.StatusPartialContent)
		w.Write([]byte("abc"))
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	dst := make([]byte, 10)
	n, _, err := bucket.ReadRange(t.Context(), "k", 5, dst, blobio.ReadOptions{})
	if n != 3 || blobio.Class(err) != blobio.ErrTransient || asked.Load() != 1 {
		t.Errorf("%d bytes by %d requests, %v; want 3 by one, and %v", n, asked.Load(), err, blobio.ErrTransient)
	}
}
