package shardfmt

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

// stripedLines writes a shard of log lines in some stripes. One line of the last stripe holds the word needle, one of each stripe
// the word everywhere.
func stripedLines(t *testing.T, url string, stripes, lines int) {
	t.Helper()
	stripedLinesOf(t, url, stripes, lines, "text:msg:unicode-log hash:host")
}

func stripedLinesOf(t *testing.T, url string, stripes, lines int, indexes string) {
	t.Helper()
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	s, err := schema.Parse("id: Int64, msg: String, host: String")
	if err != nil {
		t.Fatal(err)
	}
	var specs IndexSpecs
	if err := specs.Set(indexes); err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(ctx, client, url, s, WriterOptions{Indexes: specs, StripeRows: lines})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for stripe := range stripes {
		b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
		for i := range lines {
			word, host := "", fmt.Sprintf("h%d-%d", stripe, r.IntN(500))
			if i == lines/2 {
				word = " everywhere"
			}
			if i == lines/3 && stripe == stripes-1 {
				word, host = " Needle", "alone"
			}
			b.Field(0).(*array.Int64Builder).Append(int64(stripe*lines + i))
			appendText(b.Field(1), fmt.Sprintf("GET /items/%08x took %d ms from 10.0.%d.%d%s", r.Uint32(), r.IntN(400), r.IntN(99), r.IntN(99), word), false)
			appendText(b.Field(2), host, false)
		}
		batch := b.NewRecordBatch()
		if err := w.Write(ctx, batch); err != nil {
			t.Fatal(err)
		}
		batch.Release()
	}
	if _, err := w.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

// Looking up a word that one stripe has costs what it costs in a shard of one stripe, and one short read, however many stripes
// there are; what none has costs that read only.
func TestTermLookupOfManyStripes(t *testing.T) {
	const lines = 2500
	folder := "file://" + t.TempDir() + "/"
	for _, stripes := range []int{1, 4, 16} {
		url := fmt.Sprintf("%s%d.amudai.shard", folder, stripes)
		stripedLines(t, url, stripes, lines)
		checker := blobio.NewClient(blobio.ClientOptions{})
		report, err := verify.Shard(context.Background(), checker, url, verify.Options{})
		checker.Close()
		if err != nil || !report.OK || report.UnprotectedBytes > 0 {
			t.Fatalf("%+v %v", report, err)
		}
		for _, c := range []struct {
			where       string
			rows        int
			gets, depth int64
			pruned      int
		}{
			{"msg HAS 'needle'", 1, 8, 6, stripes - 1},
			{"msg HAS 'nowhere'", 0, 3, 3, stripes},
			{"host = 'alone'", 1, 8, 6, stripes - 1},
			{"host = 'other'", 0, 2, 2, stripes},
			{"msg HAS 'everywhere'", stripes, int64(8 * stripes), 7, 0},
			{"msg HAS 'nowhere' OR host = 'alone'", 1, 14, 9, stripes - 1},
			{"msg HAS 'everywhere' AND host = 'alone'", 0, 9, 7, stripes - 1},
		} {
			cold := blobio.NewClient(blobio.ClientOptions{})
			before := cold.Counters()
			var stats ScanStats
			ids := matching(t, cold, url, c.where, ScanOptions{Stats: &stats})
			n := cold.Counters().Sub(before)
			cold.Close()
			t.Logf("%d stripes: %s: %d GETs, %d bytes, depth %d, %d stripes ruled out by terms", stripes, c.where, n.Gets, n.GetBytes, n.Depth, stats.StripesPrunedTerms)
			if len(ids) != c.rows {
				t.Errorf("%d stripes: %s: %d rows", stripes, c.where, len(ids))
			}
			if stripes == 1 {
				continue // TestTermLookupRequests
			}
			if n.Gets > c.gets || n.Depth > c.depth || stats.StripesPrunedTerms+stats.StripesPruned < c.pruned-1 || c.rows <= 1 && n.GetBytes > 512<<10 {
				t.Errorf("%d stripes: %s: %+v, %+v", stripes, c.where, n, stats)
			}
			if all := matching(t, freshClient(t), url, c.where, ScanOptions{IgnoreIndexes: true}); !slices.Equal(ids, all) {
				t.Errorf("%d stripes: %s: %d rows, %d without indexes", stripes, c.where, len(ids), len(all))
			}
		}
	}
}

func freshClient(t *testing.T) *blobio.Client {
	c := blobio.NewClient(blobio.ClientOptions{})
	t.Cleanup(func() { c.Close() })
	return c
}

// An index of a, and of b and c as one field of it, answers for each of them alone: with rows of its partner too many, and none too few. A
// merge that moves the columns keeps it.
func TestCompositeIndex(t *testing.T) {
	ctx := context.Background()
	client := freshClient(t)
	folder := "file://" + t.TempDir() + "/"
	write := func(name, columns, specs string, first int) {
		t.Helper()
		s, err := schema.Parse(columns)
		if err != nil {
			t.Fatal(err)
		}
		o := WriterOptions{StripeRows: 600}
		if err = o.Indexes.Set(specs); err != nil {
			t.Fatal(err)
		}
		w, err := NewWriter(ctx, client, folder+name, s, o)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(uint64(first), 2))
		b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
		for i := range 1200 {
			b.Field(0).(*array.Int64Builder).Append(int64(first + i))
			for k := 1; k < 4; k++ {
				appendText(b.Field(k), fmt.Sprintf("all w%d w%d", r.IntN(2000), r.IntN(2000)), r.IntN(10) == 0)
			}
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
	write("1.amudai.shard", "id: Int64, a: String, b: String, c: String", "text:a,b+c", 0)
	write("2.amudai.shard", "id: Int64, a: String, b: String, c: String", "text:b+c", 1200)
	write("3.amudai.shard", "id: Int64, a: String, b: String, c: String", "text:a,b,c,b+c", 2400)
	one, err := Open(ctx, client, folder+"3.amudai.shard", OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tree, err := one.Root().StripeIndexes(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	var fields [][]uint32
	for _, f := range tree.IndexDescriptors[0].IndexedFields {
		fields = append(fields, f.SchemaIds)
	}
	if want := [][]uint32{{1}, {2}, {3}, {2, 3}}; !reflect.DeepEqual(fields, want) {
		t.Errorf("one tree over %v", fields)
	}
	merged, err := merge.Concat(ctx, client, folder+"m.amudai.shard", []merge.Input{{URL: folder + "1.amudai.shard"}, {URL: folder + "2.amudai.shard"}}, merge.Options{})
	if err != nil || merged.DroppedIndexes != 0 {
		t.Fatal(merged, err)
	}
	r := rand.New(rand.NewPCG(5, 6))
	for _, name := range []string{"1", "2", "3", "m"} {
		url := folder + name + ".amudai.shard"
		report, err := verify.Shard(ctx, client, url, verify.Options{})
		if err != nil || !report.OK {
			t.Fatalf("%s: %+v %v", name, report, err)
		}
		used := map[string]int{}
		for range 12 {
			for _, column := range []string{"a", "b", "c"} {
				where := fmt.Sprintf("%s HAS 'W%d'", column, r.IntN(2000))
				var stats ScanStats
				got := matching(t, client, url, where, ScanOptions{Stats: &stats})
				if want := matching(t, client, url, where, ScanOptions{IgnoreIndexes: true}); !slices.Equal(got, want) {
					t.Fatalf("%s: %s: %v, without indexes %v", name, where, got, want)
				}
				used[column] += stats.StripesIndexed + stats.StripesPrunedTerms
			}
		}
		if used["b"] < 20 || used["c"] < 20 || name == "1" && used["a"] < 20 || name == "2" && used["a"] > 0 {
			t.Errorf("%s: stripes that the index told of: %v", name, used)
		}
	}
	s, err := schema.Parse("id: Int64, a: String, b: String")
	if err != nil {
		t.Fatal(err)
	}
	s.Number()
	for _, bad := range []string{"hash:a+b", "text:a+a", "text:a+id", "text:a+z", "text:a+b,a+b"} {
		var spec IndexSpec
		err := spec.Set(bad)
		if err == nil {
			err = (IndexSpecs{spec}).Check(s)
		}
		if err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}
