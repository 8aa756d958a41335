package s3blob

import (
	"net/http"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/blobtest"
)

func TestFollowsNoRedirect(t *testing.T) {
	blobtest.FollowsNoRedirect(t, func(t *testing.T, handler http.HandlerFunc) blobio.Bucket { return stub(t, handler, "") })
}

func TestAsksOnce(t *testing.T) {
	blobtest.AsksOnce(t, func(t *testing.T, handler http.HandlerFunc) blobio.Bucket { return stub(t, handler, "") })
}
