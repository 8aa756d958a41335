package shardfmt

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/index"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// hasNeedle reports for which rows everyNth makes needles: of every nth, from the first on, or, for 0, of three in four.
func hasNeedle(i, nth int) bool {
	if nth == 0 {
		return i%4 != 3
	}
	return i%nth == 0
}

// everyNth writes a shard of rows of which some have the word needle.
func everyNth(t *testing.T, client *blobio.Client, url string, rows, nth int) {
	t.Helper()
	ctx := context.Background()
	s, err := schema.Parse("id: Int64, msg: String")
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(ctx, client, url, s, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
	for i := range rows {
		word := "straw"
		if hasNeedle(i, nth) {
			word = "Needle"
		}
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		appendText(b.Field(1), fmt.Sprintf("line %d of hay, with a %s in it", i*7919, word), false)
	}
	batch := b.NewRecordBatch()
	defer batch.Release()
	if err := w.Write(ctx, batch); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

// The values decide. A shard that was given the index of another has no row that the filter isn't true for, whatever that index states: of the rows it
// names, and of those alone, the values are looked at. So it is for positions, exact ranges and approximate ones.
func TestIndexOfOtherValuesInventsNoRow(t *testing.T) {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	dir := "file://" + t.TempDir() + "/"
	const rows = 4000
	for k, c := range []struct{ values, index int }{{6, 1}, {6, 4}, {4, 6}, {1, 3}, {1000, 1}, {7, 0}, {0, 5}, {5000, 1}} {
		at := fmt.Sprintf("%s%d-", dir, k)
		values, other, lying := at+"values.amudai.shard", at+"other.amudai.shard", at+"lying.amudai.shard"
		everyNth(t, client, values, rows, c.values)
		everyNth(t, client, other, rows, c.index)
		s, err := Open(ctx, client, other, OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var spec IndexSpec
		if err := spec.Set("text:msg"); err != nil {
			t.Fatal(err)
		}
		lies, _, err := s.BuildIndexes(ctx, client, 0, []IndexSpec{spec}, IndexBuild{Root: lying, Prefix: lying + "-"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := merge.ReplaceIndexes(ctx, client, lying, merge.Input{URL: values}, merge.IndexChange{Add: map[int][]index.Descriptor{0: lies}}); err != nil {
			t.Fatal(err)
		}
		var stats ScanStats
		got := matching(t, client, lying, "msg HAS 'needle'", ScanOptions{Stats: &stats})
		var want []int64
		for i := range int64(rows) {
			inValues, inIndex := hasNeedle(int(i), c.values), hasNeedle(int(i), c.index)
			if c.index == 0 { // an approximate range holds the gaps, too
				inIndex = i < rows-1
			}
			if inValues && inIndex {
				want = append(want, i)
			}
		}
		if stats.StripesIndexed != 1 || !slices.Equal(got, want) {
			t.Errorf("one in %d, with the index of one in %d: %d rows, want %d", c.values, c.index, len(got), len(want))
		}
	}
}
