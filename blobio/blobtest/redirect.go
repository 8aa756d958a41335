package blobtest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/shardcat/shardcat/blobio"
)

// FollowsNoRedirect checks that no request of a bucket, with its token and signature, is sent on to another host
// that the store names, and that the answer counts as a refusal. Open opens a bucket on a server that answers as
// handler does.
func FollowsNoRedirect(t *testing.T, open func(t *testing.T, handler http.HandlerFunc) blobio.Bucket) {
	t.Helper()
	stranger := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s reached another host", r.Method, r.URL.Path)
	}))
	defer stranger.Close()
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		bucket := open(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", stranger.URL+r.URL.RequestURI())
			w.WriteHeader(status)
		})
		_, _, errRead := bucket.ReadRange(t.Context(), "k", 0, make([]byte, 1), blobio.ReadOptions{})
		_, errStat := bucket.Stat(t.Context(), "k", blobio.ReadOptions{})
		for call, err := range map[string]error{"read": errRead, "stat": errStat,
			"create": write(t.Context(), bucket, "k", []byte("x")), "delete": bucket.Delete(t.Context(), "k", blobio.DeleteOptions{})} {
			if blobio.Class(err) != blobio.ErrDenied {
				t.Errorf("%s answered by %d: %v, want %v", call, status, err, blobio.ErrDenied)
			}
		}
	}
}
