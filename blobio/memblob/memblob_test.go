package memblob_test

import (
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/blobtest"
	"github.com/shardcat/shardcat/blobio/memblob"
)

func TestConformance(t *testing.T) {
	blobtest.Run(t, blobtest.Store{
		Parts: 1 << 20,
		Open:  func(*testing.T) blobio.Bucket { return memblob.Open("conformance") },
	})
}
