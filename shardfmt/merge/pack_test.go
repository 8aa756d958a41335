package merge_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

// packedCase uploads the inputs of a golden merge.
func packedCase(t *testing.T, sp *blobio.Client, folder, at string) (in []merge.Input, cases []*interop.Case) {
	var c struct {
		MergedFrom []struct{ Case string } `json:"merged_from"`
	}
	b, err := os.ReadFile(filepath.Join(folder, "case.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, from := range c.MergedFrom {
		if !seen[from.Case] {
			upload(t, sp, filepath.Join(interop.Dir(t), from.Case), at+from.Case+"/")
			seen[from.Case] = true
		}
		in = append(in, merge.Input{URL: at + from.Case + "/shard.amudai.shard"})
		cases = append(cases, &interop.Case{Name: from.Case, Dir: filepath.Join(interop.Dir(t), from.Case)})
	}
	return in, cases
}

// TestPackGoldenRows packs golden shards: their rows are there in order, every byte is right, and nothing but the two new objects is
// needed, once the inputs are gone.
func TestPackGoldenRows(t *testing.T) {
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
		t.Run(filepath.Base(folder), func(t *testing.T) {
			sp := blobio.NewClient(blobio.ClientOptions{})
			defer sp.Close()
			at := "mem://pack-" + filepath.Base(folder) + "/"
			in, cases := packedCase(t, sp, folder, at)
			start := sp.Counters()
			res, err := merge.Pack(ctx, sp, at+"out.amudai.shard", in, merge.PackOptions{Object: at + "data/p/0.amudai.stripe", All: true})
			if errors.Is(err, merge.ErrNothingToPack) { // of one object
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			packed++
			used := sp.Counters().Sub(start)
			if want, got := int64(2), used.Puts; !reflect.DeepEqual(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
			if want, got := ([]string{at + "data/p/0.amudai.stripe"}), res.Objects; !reflect.DeepEqual(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
			if got := res.BytesMoved; got <= 0 {
				t.Fatalf("res.BytesMoved is %v", got)
			}
			for info, err := range sp.List(ctx, at) {
				if err != nil {
					t.Fatal(err)
				}
				if info.URL != res.URL && info.URL != res.Objects[0] {
					if err := sp.Delete(ctx, info.URL, ""); err != nil {
						t.Fatal(err)
					}
				}
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
		})
	}
	if got := packed; got <= 0 {
		t.Fatalf("packed is %v", got)
	}
}

// TestPackHoldsBytesToTheirChecksums: what was damaged at rest is not copied as if it were right.
func TestPackHoldsBytesToTheirChecksums(t *testing.T) {
	ctx := context.Background()
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	const at = "mem://pack-damage/"
	var in []merge.Input
	for _, name := range []string{"a", "b", "c"} {
		in = append(in, writeNumbers(t, sp, at+name+".amudai.shard", "a: Int64, s: String", []int{1, 2}, 100, shardfmt.TwoLevel))
	}
	var victim string
	for info, err := range sp.List(ctx, at) {
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Ext(info.URL) == ".stripe" {
			victim = info.URL
		}
	}
	whole, err := merge.Pack(ctx, sp, at+"whole.amudai.shard", in, merge.PackOptions{Object: at + "data/whole/0.amudai.stripe", All: true})
	if err != nil {
		t.Fatal(err)
	}
	verified(t, sp, whole.URL)
	data, _, err := sp.ReadAll(ctx, victim, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := sp.Delete(ctx, victim, ""); err != nil {
		t.Fatal(err)
	}
	if err := sp.Put(ctx, victim, data); err != nil {
		t.Fatal(err)
	}
	_, err = merge.Pack(ctx, sp, at+"out.amudai.shard", in, merge.PackOptions{Object: at + "data/p/0.amudai.stripe", All: true})
	if !errors.Is(err, corrupt.ErrCorrupt) {
		t.Fatalf("%v, want %v", err, corrupt.ErrCorrupt)
	}
	for info, err := range memblob.Open("pack-damage").List(ctx, "", blobio.ListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if all, one := info.Key, "out."; strings.Contains(all, one) {
			t.Fatalf("%v has %v", all, one)
		}
		if all, one := info.Key, "/p/"; strings.Contains(all, one) {
			t.Fatalf("%v has %v", all, one)
		}
	}
}

// TestPackCountBoundsCopies simulates years of appends: objects of any sizes come in, and are packed whenever there are many. No byte is
// copied more often than its object can grow eightfold before it is large.
func TestPackCountBoundsCopies(t *testing.T) {
	type object struct{ size, first, copies int64 }
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		var objects []object
		most := 0
		for range 20_000 {
			size := int64(1 + r.ExpFloat64()*float64(int64(1)<<(4+seed)))
			objects = append(objects, object{size: size, first: size})
			if len(objects) < 64 {
				continue
			}
			slices.SortFunc(objects, func(a, b object) int { return int(a.size - b.size) })
			sizes := make([]int64, len(objects))
			for i, o := range objects {
				sizes[i] = o.size
			}
			n := merge.PackCount(sizes)
			if n == 0 {
				most = max(most, len(objects))
				large := slices.IndexFunc(objects, func(o object) bool { return o.size >= merge.PackBelow })
				if large >= 0 {
					objects = objects[:large] // they are at rest
				}
				continue
			}
			sum := object{first: merge.PackBelow}
			for _, o := range objects[:n] {
				sum.size += o.size
				sum.first, sum.copies = min(sum.first, o.first), max(sum.copies, o.copies+1)
			}
			grown := int64(1)
			for at := sum.first; at < merge.PackBelow; at *= merge.PackGrowth {
				grown++
			}
			if sum.copies > grown {
				t.Fatalf("seed %d: a byte of an object of %d was copied %d times, more than %d", seed, sum.first, sum.copies, grown)
			}
			objects = append(objects[n:], sum)
		}
		if most > 128 {
			t.Errorf("seed %d: %d objects, and nothing to pack", seed, most)
		}
	}
}
