package merge

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop"
	"github.com/shardcat/shardcat/urlresolve"
)

// put copies a folder of golden objects into the store below at, and returns the size of its root.
func put(t *testing.T, sp *blobio.Client, folder, at string) int64 {
	size := int64(0)
	if err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(name, ".amudai.") {
			return err
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(name) == "shard.amudai.shard" {
			size = int64(len(b))
		}
		return sp.Put(context.Background(), at+urlresolve.EscapeKey(filepath.ToSlash(strings.TrimPrefix(name, folder+"/"))), b)
	}); err != nil {
		t.Fatal(err)
	}
	return size
}

// mergedCase is a merged golden root and what it was made of.
type mergedCase struct {
	Name       string
	Stripes    []uint64
	MergedFrom []struct {
		Case  string
		Lacks []string
	} `json:"merged_from"`
}

// TestGoldenMerges merges the golden shards that the golden merged roots were made of. Each root states the same
// as ours: the same stripes, the same descriptors of every field and stripe and of the shard. Objects were
// given other names there, so that references are compared by their ranges.
func TestGoldenMerges(t *testing.T) {
	dir := interop.Dir(t)
	ctx := context.Background()
	for _, name := range []string{"bloom-2", "const-10", "decs-escaped-2", "flat-wide-4", "nest-inplace-3"} {
		if name == "bloom-2" && !interop.Whole() {
			continue // half a megabyte of filters
		}
		t.Run(name, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join(dir, "merged", name, "case.json"))
			if err != nil {
				t.Fatal(err)
			}
			var c mergedCase
			if err := json.Unmarshal(b, &c); err != nil {
				t.Fatal(err)
			}
			sp, at := newSpace(t)
			var in []Input
			known := map[string]Input{}
			for _, from := range c.MergedFrom {
				if _, ok := known[from.Case]; !ok {
					size := put(t, sp, filepath.Join(dir, from.Case), at+from.Case+"/")
					known[from.Case] = Input{URL: at + from.Case + "/shard.amudai.shard", Size: size}
				}
				in = append(in, known[from.Case])
			}
			before := sp.Counters()
			res, err := Concat(ctx, sp, at+"out.amudai.shard", in, Options{})
			if err != nil {
				t.Fatal(err)
			}
			gets := sp.Counters().Sub(before).Gets
			if want, got := int64(len(in)+1), gets; !reflect.DeepEqual(got, want) {
				t.Fatalf("one GET per input and one to read back: got %v, want %v", got, want)
			}

			put(t, sp, filepath.Join(dir, "merged", name), at+"golden/")
			same(t, open(t, sp, res.URL), open(t, sp, at+"golden/shard.amudai.shard"))
		})
	}
}

// TestGoldenMergesAgain merges each merged golden root with itself: also the one whose metadata lies in other
// roots, and the one with private fields everywhere.
func TestGoldenMergesAgain(t *testing.T) {
	ctx := context.Background()
	folders, err := filepath.Glob(filepath.Join(interop.Dir(t), "merged", "*", "shard.amudai.shard"))
	if err != nil {
		t.Fatal(err)
	}
	if len(folders) == 0 {
		t.Fatalf("folders is empty")
	}
	for _, root := range folders {
		sp, at := newSpace(t)
		size := put(t, sp, filepath.Dir(root), at+"x/")
		in := Input{URL: at + "x/shard.amudai.shard", Size: size}
		res, err := Concat(ctx, sp, at+"out.amudai.shard", []Input{in, in}, Options{})
		if err != nil {
			t.Fatalf("%v: %v", root, err)
		}
		once, err := Concat(ctx, sp, at+"x/once.amudai.shard", []Input{in}, Options{})
		if err != nil {
			t.Fatalf("%v: %v", root, err)
		}
		if want, got := 2*once.Records, res.Records; !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		if want, got := once.Objects, res.Objects; !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		old := open(t, sp, in.URL)
		same(t, open(t, sp, once.URL), old)
		urls, err := open(t, sp, once.URL).URLList(ctx)
		if err != nil {
			t.Fatal(err)
		}
		want, err := old.URLList(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := slices.Sorted(slices.Values(urls.Urls)), slices.Sorted(slices.Values(want.Urls)); !slices.Equal(got, want) {
			t.Fatalf("the same objects under the same names: got %v, want %v", got, want)
		}
		if want, got := unknownOf(old), unknownOf(open(t, sp, once.URL)); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

// unknownOf are the unknown fields of some messages of a root.
func unknownOf(r *meta.Root) []string {
	ctx := context.Background()
	p, _ := r.Properties(ctx)
	list, _ := r.StripeList(ctx)
	urls, _ := r.URLList(ctx)
	all := []string{string(r.Directory().ProtoReflect().GetUnknown())}
	for _, m := range []proto.Message{p, p.CreationMin, list, list.Stripes[0], urls} {
		all = append(all, string(m.ProtoReflect().GetUnknown()))
	}
	fields, _, _ := r.StripeFieldList(ctx, 0)
	d, _, _ := r.StripeField(ctx, 0, 0)
	return append(all, string(fields.Unknown()), string(d.ProtoReflect().GetUnknown()), string(d.Field.ProtoReflect().GetUnknown()))
}

// same compares two roots but for the names of objects.
func same(t *testing.T, a, b *meta.Root) {
	ctx := context.Background()
	sa, err := a.Schema(ctx)
	if err != nil {
		t.Fatal(err)
	}
	sb, err := b.Schema(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if want, got := sb, sa; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	stripesA, err := a.Stripes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stripesB, err := b.Stripes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got := stripesA; len(got) != len(stripesB) {
		t.Fatalf("%d elements, want %d: %v", len(got), len(stripesB), got)
	}
	if want, got := b.Directory().GetRawDataSize(), a.Directory().GetRawDataSize(); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range stripesA {
		if want, got := stripesB[i].TotalRecordCount, stripesA[i].TotalRecordCount; !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		if want, got := stripesB[i].ShardPosition, stripesA[i].ShardPosition; !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		if want, got := stripesB[i].GetRawDataSize(), stripesA[i].GetRawDataSize(); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
	for id := range sa.Count {
		fa, err := a.ShardField(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		fb, err := b.ShardField(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if want, got := prototext.Format(fb), prototext.Format(fa); !reflect.DeepEqual(got, want) {
			t.Fatalf("field %d: got %v, want %v", id, got, want)
		}
		for i := range stripesA {
			da, _, err := a.StripeField(ctx, i, id)
			if err != nil {
				t.Fatal(err)
			}
			db, _, err := b.StripeField(ctx, i, id)
			if err != nil {
				t.Fatal(err)
			}
			nameless(da)
			nameless(db)
			if !proto.Equal(db, da) {
				t.Fatalf("stripe %d, field %d: proto.Equal(db, da) is false", i, id)
			}
		}
	}
	ua, err := a.URLList(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ub, err := b.URLList(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got := ua.Urls; len(got) != len(ub.Urls) {
		t.Fatalf("%d elements, want %d: %v", len(got), len(ub.Urls), got)
	}
}

// nameless takes the names of objects away, leaving only that there is one.
func nameless(d *metapb.StripeFieldDescriptor) {
	nameBlockMaps(d)
	meta.RewriteURLs(d, func(string) string { return path.Base("object") })
}
