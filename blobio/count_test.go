package blobio_test

import (
	"context"
	"iter"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
)

// paging is a bucket that lists in pages of two keys, and sees its requests.
type paging struct{ *memblob.Bucket }

func (paging) Local() bool { return false }

func (p paging) List(ctx context.Context, prefix string, opts blobio.ListOptions) iter.Seq2[blobio.Info, error] {
	return func(yield func(blobio.Info, error) bool) {
		n := 0
		for info, err := range p.Bucket.List(ctx, prefix, opts) {
			if n%2 == 0 {
				opts.Trace.Count(blobio.Counters{Lists: 1, Depth: 1})
			}
			n++
			if !yield(info, err) {
				return
			}
		}
	}
}

func TestDriversCountPages(t *testing.T) {
	mem := memblob.New()
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		mem.Replace(key, nil)
	}
	sp := blobio.NewClient(blobio.ClientOptions{})
	if err := sp.MountBucket("mem://paging/", paging{mem}); err != nil {
		t.Fatal(err)
	}
	for _, err := range sp.List(t.Context(), "mem://paging/") {
		if err != nil {
			t.Fatal(err)
		}
	}
	if c := sp.Counters(); c.Lists != 3 || c.Depth != 3 {
		t.Errorf("%+v, want 3 lists that waited for one another", c)
	}
	blobio.Trace{}.Count(blobio.Counters{Lists: 1}) // outside of a Client: nothing to count for
}
