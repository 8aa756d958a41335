package merge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop/rows"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/shardfmt/verify"
	"github.com/shardcat/shardcat/urlresolve"
)

// upload copies the objects of a golden shard into the store below at.
func upload(t *testing.T, sp *blobio.Client, folder, at string) {
	if err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(name, ".amudai.") {
			return err
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return sp.Put(context.Background(), at+urlresolve.EscapeKey(filepath.ToSlash(strings.TrimPrefix(name, folder+"/"))), b)
	}); err != nil {
		t.Fatal(err)
	}
}

// scan reads all of a shard.
func scan(t *testing.T, sp *blobio.Client, url string) (*schema.Schema, []arrow.RecordBatch) {
	ctx := context.Background()
	s, err := shardfmt.Open(ctx, sp, url, shardfmt.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sch, err := s.Project(ctx, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	var batches []arrow.RecordBatch
	for b, err := range s.Scan(ctx, shardfmt.ScanOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		batches = append(batches, b)
	}
	return sch, batches
}

// compareRows compares the batches with the rows of several golden shards, one after the other.
func compareRows(t *testing.T, sch *schema.Schema, batches []arrow.RecordBatch, cases ...*interop.Case) {
	at, row := 0, 0
	for _, c := range cases {
		c.ExpectedRows(t, func(_ int, line []byte) {
			for len(batches) > 0 && at == int(batches[0].NumRows()) {
				batches, at = batches[1:], 0
			}
			if len(batches) == 0 {
				t.Fatalf("row %d is missing: batches is empty", row)
			}
			if err := rows.Compare(line, sch, batches[0], at); err != nil {
				t.Fatalf("row %d of %s: %v", row, c.Name, err)
			}
			at, row = at+1, row+1
		})
	}
	for _, b := range batches {
		if want, got := at, int(b.NumRows()); !reflect.DeepEqual(got, want) {
			t.Fatalf("more rows than expected: got %v, want %v", got, want)
		}
		at = 0
	}
}

// TestGoldenRows merges golden shards and reads the rows of all, in order; every byte that the merged root
// reaches is right.
func TestGoldenRows(t *testing.T) {
	ctx := context.Background()
	roots, err := filepath.Glob(filepath.Join(interop.Dir(t), "merged", "*", "case.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(roots) == 0 {
		t.Fatalf("roots is empty")
	}
	for _, root := range roots {
		folder := filepath.Dir(root)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			var c struct {
				MergedFrom []struct{ Case string } `json:"merged_from"`
			}
			b, err := os.ReadFile(root)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(b, &c); err != nil {
				t.Fatal(err)
			}
			sp := blobio.NewClient(blobio.ClientOptions{})
			defer sp.Close()
			at := "mem://golden-rows-" + filepath.Base(folder) + "/"

			var in []merge.Input
			var cases []*interop.Case
			seen := map[string]bool{}
			for _, from := range c.MergedFrom {
				if !seen[from.Case] {
					upload(t, sp, filepath.Join(interop.Dir(t), from.Case), at+from.Case+"/")
					seen[from.Case] = true
				}
				in = append(in, merge.Input{URL: at + from.Case + "/shard.amudai.shard"})
				cases = append(cases, &interop.Case{Name: from.Case, Dir: filepath.Join(interop.Dir(t), from.Case)})
			}
			res, err := merge.Concat(ctx, sp, at+"out.amudai.shard", in, merge.Options{})
			if err != nil {
				t.Fatal(err)
			}
			sch, batches := scan(t, sp, res.URL)
			compareRows(t, sch, batches, cases...)
			report, err := verify.Shard(ctx, sp, res.URL, verify.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := report.Errors; len(got) != 0 {
				t.Fatalf("got %v, want nothing", got)
			}

			// The merged golden root itself, and a merge of it.
			upload(t, sp, folder, at+"golden/")
			golden := &interop.Case{Name: "golden", Dir: folder}
			sch, batches = scan(t, sp, at+"golden/shard.amudai.shard")
			compareRows(t, sch, batches, golden)
			res, err = merge.Concat(ctx, sp, at+"twice.amudai.shard",
				[]merge.Input{{URL: at + "golden/shard.amudai.shard"}, {URL: at + "golden/shard.amudai.shard"}}, merge.Options{})
			if err != nil {
				t.Fatal(err)
			}
			sch, batches = scan(t, sp, res.URL)
			compareRows(t, sch, batches, golden, golden)
		})
	}
}

// writeNumbers writes a shard of n records whose fields of type Int64, at any depth of structs, are numbers
// counted from first.
func writeNumbers(t *testing.T, sp *blobio.Client, url, text string, ids []int, n int, layout shardfmt.Layout) merge.Input {
	s, err := schema.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	w, err := shardfmt.NewWriter(context.Background(), sp, url, s, shardfmt.WriterOptions{FieldIDs: ids, StripeRows: 40, Layout: layout})
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
	for i := range n {
		for f := range s.Fields {
			appendNumber(b.Field(f), s.Fields[f], i)
		}
	}
	if err := w.Write(context.Background(), b.NewRecordBatch()); err != nil {
		t.Fatal(err)
	}
	written, err := w.Close(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return merge.Input{URL: url, Size: written.Size}
}

func appendNumber(b array.Builder, n *schema.Node, i int) {
	switch b := b.(type) {
	case *array.Int64Builder:
		b.Append(int64(i))
	case *array.LargeStringBuilder:
		b.Append(fmt.Sprint(n.Name, i))
	case *array.StructBuilder:
		b.Append(true)
		for k, c := range n.Children {
			appendNumber(b.FieldBuilder(k), c, i)
		}
	}
}

// TestEvolvedRows: fields that an input lacks read as null, moved and renamed ones as they were.
func TestEvolvedRows(t *testing.T) {
	ctx := context.Background()
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	at := "mem://evolved-rows/"
	old := writeNumbers(t, sp, at+"x/old.amudai.shard", "a: Int64, s: Struct<x: Int64>", []int{1, 2, 3}, 100, shardfmt.TwoLevel)
	now := writeNumbers(t, sp, at+"now.amudai.shard", "new: String, s: Struct<y: String, z: Int64>, b: Int64", []int{7, 2, 8, 3, 1}, 50, shardfmt.Single)
	res, err := merge.Concat(ctx, sp, at+"out.amudai.shard", []merge.Input{old, now}, merge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want, got := uint64(150), res.Records; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}

	_, batches := scan(t, sp, res.URL)
	var got strings.Builder
	for _, b := range batches {
		for i := range int(b.NumRows()) {
			s := b.Column(1).(*array.Struct)
			fmt.Fprintln(&got, b.Column(0).ValueStr(i), s.Field(0).ValueStr(i), s.Field(1).ValueStr(i), b.Column(2).ValueStr(i))
		}
	}
	var want strings.Builder
	for i := range 100 {
		fmt.Fprintln(&want, "(null) (null)", i, i)
	}
	for i := range 50 {
		fmt.Fprintf(&want, "new%d y%d %d %d\n", i, i, i, i)
	}
	if want, got := want.String(), got.String(); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	report, err := verify.Shard(ctx, sp, res.URL, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := report.Errors; len(got) != 0 {
		t.Fatalf("got %v, want nothing", got)
	}
}
