package blobio_test

import (
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/blobtest"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// TestLayersConform: a remote bucket under all the layers of a Client still does what a bucket must.
func TestLayersConform(t *testing.T) {
	blobtest.Run(t, blobtest.Store{Big: 4 << 20, Parts: 1 << 20, Open: func(t *testing.T) blobio.Bucket {
		sp := blobio.NewClient(blobio.ClientOptions{Hedging: true})
		if err := sp.MountBucket("mem://layers/", blobfake.NewFaulty(t, memblob.Open("layers"), "")); err != nil {
			t.Fatal(err)
		}
		b, err := sp.Bucket(t.Context(), "mem://layers/")
		if err != nil {
			t.Fatal(err)
		}
		return b
	}})
}
