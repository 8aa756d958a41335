package merge_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// TestIndexesOfWholeInputs: what all inputs with records have alike is merged, into objects that are there if the merge succeeds and deleted
// if it can't build its root; the rest is dropped and counted.
func TestIndexesOfWholeInputs(t *testing.T) {
	ctx := context.Background()
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	const at = "mem://merged-indexes/"
	s, err := schema.Parse("n: Int64, s: String, t: String, u: String")
	if err != nil {
		t.Fatal(err)
	}
	input := func(name, indexes string, rows int) merge.Input {
		t.Helper()
		var specs shardfmt.IndexSpecs
		if err := specs.Set(indexes); err != nil {
			t.Fatal(err)
		}
		w, err := shardfmt.NewWriter(ctx, sp, at+name+".amudai.shard", s, shardfmt.WriterOptions{Indexes: specs, StripeRows: 2})
		if err != nil {
			t.Fatal(err)
		}
		b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
		for i := range rows {
			for f := range s.Fields {
				appendNumber(b.Field(f), s.Fields[f], i)
			}
		}
		if err := w.Write(ctx, b.NewRecordBatch()); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Close(ctx); err != nil {
			t.Fatal(err)
		}
		return merge.Input{URL: at + name + ".amudai.shard"}
	}
	list := func() (urls []string) {
		for o, err := range sp.List(ctx, at) {
			if err != nil {
				t.Fatal(err)
			}
			urls = append(urls, o.URL)
		}
		return urls
	}
	a := input("a", "hash@shard:n text@shard:s hash@shard-field:s hash@shard-field:t", 3)
	b := input("b", "hash@shard:u text@shard:s hash@shard-field:s hash@shard-field:t", 4)
	empty := input("empty", "", 0)
	part := b
	part.Stripes = []int{1}
	all := []merge.Input{a, empty, b}

	before, counters := list(), sp.Counters()
	if _, err := merge.Concat(ctx, sp, at+"m.amudai.shard", all, merge.Options{Limits: merge.Limits{PropertyBytes: 1}}); err == nil {
		t.Fatal("one byte of properties is enough")
	}
	if puts := sp.Counters().Sub(counters).Puts; puts == 0 {
		t.Fatal("no index was written before the error")
	}
	if after := list(); !slices.Equal(after, before) {
		t.Errorf("a merge that failed leaves %q beside %q", after, before)
	}
	for name, c := range map[string]struct {
		in                     []merge.Input
		joined, dropped, whole int
		fields                 []int
	}{
		"m":     {all, 3, 2, 1, []int{0, 1, 1}},
		"part":  {[]merge.Input{a, part}, 0, 8, 0, []int{0, 0, 0}},
		"lone":  {[]merge.Input{a}, 0, 0, 2, []int{0, 1, 1}},
		"first": {[]merge.Input{empty, a}, 0, 0, 2, []int{0, 1, 1}},
	} {
		res, err := merge.Concat(ctx, sp, at+name+".amudai.shard", c.in, merge.Options{})
		if err != nil || res.JoinedIndexes != c.joined || res.DroppedIndexes != c.dropped || len(res.Written) < c.joined {
			t.Fatalf("%s: %+v, %v", name, res, err)
		}
		for _, url := range res.Written {
			if _, err := sp.Stat(ctx, url); err != nil || !strings.HasPrefix(url, at+name+"-") {
				t.Errorf("%s: an object of a merged index: %s, %v", name, url, err)
			}
		}
		root, err := meta.OpenRoot(ctx, sp, res.URL, meta.Options{})
		if err != nil {
			t.Fatal(err)
		}
		whole, err := root.Indexes(ctx)
		if err != nil || len(whole.GetIndexDescriptors()) != c.whole {
			t.Errorf("%s: indexes of the shard: %v, %v", name, whole, err)
		}
		objects, _, err := root.Reach(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if listed := append(res.Objects, res.URL); !slices.Equal(slices.Sorted(slices.Values(objects)), slices.Sorted(slices.Values(listed))) {
			t.Errorf("%s: the root refers to %q, not to %q", name, objects, listed)
		}
		for id, want := range c.fields {
			d, err := root.ShardField(ctx, uint32(id))
			if err != nil || d.GetPositionCount() != res.Records || len(d.GetIndexes().GetIndexDescriptors()) != want {
				t.Errorf("%s: field %d: %v, %v", name, id, d, err)
			}
		}
	}
}
