package merge_test

import (
	"context"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

// Ranges that the store copies itself, here all of them, lie where they would lie had they been fetched, and are not fetched.
func TestPackCopiesInTheStore(t *testing.T) {
	ctx := context.Background()
	roots, err := filepath.Glob(filepath.Join(interop.Dir(t), "merged", "*", "case.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(roots) == 0 {
		t.Fatalf("roots is empty")
	}
	packed := 0
	for _, root := range roots {
		folder := filepath.Dir(root)
		sp := blobio.NewClient()
		defer sp.Close()
		at := "mem://packcopy-" + filepath.Base(folder) + "/"
		in, cases := packedCase(t, sp, folder, at)
		pack := func(name string, least int64) (*merge.Result, []byte, blobio.Counters) {
			defer merge.SetCopyLeast(least)()
			start := sp.Counters()
			res, err := merge.Pack(ctx, sp, at+name+".amudai.shard", at+"data/"+name+"/0.amudai.stripe", in, merge.PackOptions{Copy: true})
			if err != nil {
				t.Fatal(err)
			}
			used := sp.Counters().Sub(start)
			data, _, err := sp.ReadAll(ctx, res.Objects[0], 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			return res, data, used
		}
		fetched, want, all := pack("fetched", 1<<40)
		copied, got, few := pack("copying", 1)
		if want, got := want, got; !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		if want, got := fetched.BytesMoved, copied.BytesMoved; !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		samples := few.GetBytes - (all.GetBytes - fetched.BytesMoved) // the rest are the roots
		if got := samples; got <= 0 {
			t.Fatalf("samples is %v", got)
		}
		if a, b := samples, int64(copied.Packed)*4<<10; a > b {
			t.Fatalf("1 KiB at both ends of each range and of its source: samples is %v, want at most %v", a, b)
		}
		packed++
		sch, rows := scan(t, sp, copied.URL)
		compareRows(t, sch, rows, cases...)
		report, err := verify.Shard(ctx, sp, copied.URL, verify.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := report.Errors; len(got) != 0 {
			t.Fatalf("got %v, want nothing", got)
		}
	}
	if got := packed; got <= 0 {
		t.Fatalf("packed is %v", got)
	}
}
