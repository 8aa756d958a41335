package fileblob_test

import (
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/blobtest"
	"github.com/shardcat/shardcat/blobio/fileblob"
)

func TestConformance(t *testing.T) {
	dir := t.TempDir()
	blobtest.Run(t, blobtest.Store{
		Open: func(*testing.T) blobio.Bucket { return fileblob.Open(dir) },
	})
}
