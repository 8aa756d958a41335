package shardfmt

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/index"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

// wordsAndTags writes a shard of two stripes; without drops some words, and values of every column, that it else has.
func wordsAndTags(t *testing.T, client *blobio.Client, url string, without bool) {
	t.Helper()
	s, err := schema.Parse("k: Int64, msg: String, more: String, tags: List<String>, p: Struct<u: Int32, v: String>")
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(t.Context(), client, url, s, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for i := range 600 {
		k, word := i%97, "Straw"
		if i%150 == 7 {
			k, word = 1000+i, "needle"
		}
		if without && word == "needle" {
			k, word = 1, "straw"
		}
		rows = append(rows, fmt.Sprintf(`{"k":%d,"msg":"line %d with a %s","more":"%s","tags":["a%d","%s"],"p":{"u":%d,"v":"%s"}}`, k, i%5, word, word, k, word, k, word))
	}
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrowtype.Schema(s), strings.NewReader("["+strings.Join(rows, ",")+"]"))
	if err != nil {
		t.Fatal(err)
	}
	for _, half := range []arrow.RecordBatch{b.NewSlice(0, 300), b.NewSlice(300, 600)} {
		if err := w.Write(t.Context(), half); err != nil {
			t.Fatal(err)
		}
		if err := w.EndStripe(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// An index, or a term filter, that names fewer records than the values are in would hide rows: verify finds it, of every kind and scope. The
// index of the values themselves, and one that names more, is whole.
func TestVerifyFindsIndexesThatLackPostings(t *testing.T) {
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	dir := "file://" + t.TempDir() + "/"
	full, less := dir+"full.amudai.shard", dir+"less.amudai.shard"
	wordsAndTags(t, client, full, false)
	wordsAndTags(t, client, less, true)
	specs := []string{"text:msg", "text:msg:trivial", "text:tags", "text:msg+more", "text:msg,more", "hash:k", "hash:msg,p.u", "hash:tags", "layer:k", "layer:tags",
		"layer:k,p.u", "text:p.v", "text@field:msg", "hash@field:k", "layer@field:k", "text@shard:msg", "hash@shard:k", "layer@shard:k", "text@shard-field:msg"}
	for n, text := range specs {
		for _, c := range []struct {
			values, index string
			filterOnly    bool
			whole         bool
		}{{values: full, index: full, whole: true}, {values: full, index: less}, {values: full, index: less, filterOnly: true}} {
			if c.filterOnly && !strings.HasPrefix(text, "text:") && !strings.HasPrefix(text, "hash:") {
				continue
			}
			out := fmt.Sprintf("%s%d-%v-%v.amudai.shard", dir, n, c.whole, c.filterOnly)
			var change merge.IndexChange
			built := buildAll(t, client, c.index, text, out+".index-")
			if c.filterOnly { // the filters of the one, the indexes of the other
				filters := built.Add
				built = buildAll(t, client, full, text, out+".full-")
				for stripe, all := range built.Add {
					other := func(want bool) func(d index.Descriptor) bool {
						return func(d index.Descriptor) bool { return d.IsTermFilter() != want }
					}
					built.Add[stripe] = append(slices.DeleteFunc(all, other(false)), slices.DeleteFunc(filters[stripe], other(true))...)
				}
			}
			change.Add, change.AddShard = built.Add, built.AddShard
			if _, err := merge.ReplaceIndexes(t.Context(), client, out, merge.Input{URL: c.values}, change); err != nil {
				t.Fatal(text, err)
			}
			r, err := verify.Shard(t.Context(), client, out, verify.Options{})
			if err != nil {
				t.Fatal(text, err)
			}
			if r.OK != c.whole {
				t.Errorf("%s of %s with the index of %s (its filter only: %v): whole=%v, %v", text, c.values, c.index, c.filterOnly, r.OK, r.Errors)
			}
			for _, e := range r.Errors {
				if name := strings.Replace(text, ":trivial", "", 1); !strings.Contains(e.What, "does not match the values") || !strings.Contains(e.What, name[strings.Index(name, ":"):]) {
					t.Errorf("%s: %s", text, e.What)
				}
			}
		}
	}
}

// buildAll builds the indexes of a spec for all stripes, or the shard.
func buildAll(t *testing.T, client *blobio.Client, of, text, prefix string) (out merge.IndexChange) {
	t.Helper()
	s, err := Open(t.Context(), client, of, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var spec IndexSpec
	if err := spec.Set(text); err != nil {
		t.Fatal(err)
	}
	if spec.Scope.Whole() {
		if out.AddShard, out.Add, _, err = s.BuildShardIndexes(t.Context(), client, []IndexSpec{spec}, IndexBuild{Root: prefix, Prefix: prefix}); err != nil {
			t.Fatal(err)
		}
		return out
	}
	out.Add = map[int][]index.Descriptor{}
	for i := range s.stripes {
		if out.Add[i], _, err = s.BuildIndexes(t.Context(), client, i, []IndexSpec{spec}, IndexBuild{Root: prefix, Prefix: fmt.Sprintf("%s%d-", prefix, i)}); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
