package demo

import (
	"io"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/catalog"
)

// TestFilterReadsNoMoreAfterCompaction: the root of 28 stripes that compaction writes is read by parts, so that a selective
// filter costs about what it cost when each stripe had a root of its own.
func TestFilterReadsNoMoreAfterCompaction(t *testing.T) {
	r, err := Run(t.Context(), Options{Dir: t.TempDir(), Catalog: catalog.Options{Client: blobio.NewClient(blobio.ClientOptions{})}, Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if r.ShardsBefore != 28 || r.ShardsAfter != 1 || r.FilterBefore.Bytes == 0 {
		t.Fatalf("%+v", r)
	}
	if r.FilterAfter.Gets > r.FilterBefore.Gets || 10*r.FilterAfter.Bytes > 12*r.FilterBefore.Bytes {
		t.Errorf("%+v before compaction, %+v after: more than the same requests and 1.2 of the bytes", r.FilterBefore, r.FilterAfter)
	}
}
