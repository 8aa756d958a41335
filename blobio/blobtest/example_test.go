package blobtest_test

import (
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/blobtest"
	"github.com/shardcat/shardcat/blobio/memblob"
)

// A driver's own test runs the suite on a bucket of it.
func ExampleRun() {
	test := func(t *testing.T) {
		bucket := memblob.New()
		blobtest.Run(t, blobtest.Store{Open: func(*testing.T) blobio.Bucket { return bucket }})
	}
	_ = test // func TestStore(t *testing.T) in the driver's package
}
