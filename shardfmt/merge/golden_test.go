package merge

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
	require.NoError(t, filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(name, ".amudai.") {
			return err
		}
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		if filepath.Base(name) == "shard.amudai.shard" {
			size = int64(len(b))
		}
		return sp.Put(context.Background(), at+urlresolve.EscapeKey(filepath.ToSlash(strings.TrimPrefix(name, folder+"/"))), b)
	}))
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

// TestGoldenMerges merges the golden shards that the golden merged roots were made of. Each root says the same
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
			require.NoError(t, err)
			var c mergedCase
			require.NoError(t, json.Unmarshal(b, &c))
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
			require.NoError(t, err)
			gets := sp.Counters().Sub(before).Gets
			require.Equal(t, int64(len(in)+1), gets, "one GET per input and one to read back")

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
	require.NoError(t, err)
	require.NotEmpty(t, folders)
	for _, root := range folders {
		sp, at := newSpace(t)
		size := put(t, sp, filepath.Dir(root), at+"x/")
		in := Input{URL: at + "x/shard.amudai.shard", Size: size}
		res, err := Concat(ctx, sp, at+"out.amudai.shard", []Input{in, in}, Options{})
		require.NoError(t, err, root)
		once, err := Concat(ctx, sp, at+"x/once.amudai.shard", []Input{in}, Options{})
		require.NoError(t, err, root)
		require.Equal(t, 2*once.Records, res.Records)
		require.Equal(t, once.Objects, res.Objects)
		old := open(t, sp, in.URL)
		same(t, open(t, sp, once.URL), old)
		urls, err := open(t, sp, once.URL).URLList(ctx)
		require.NoError(t, err)
		want, err := old.URLList(ctx)
		require.NoError(t, err)
		require.ElementsMatch(t, want.Urls, urls.Urls, "the same objects under the same names")
		require.Equal(t, unknownOf(old), unknownOf(open(t, sp, once.URL)))
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
	require.NoError(t, err)
	sb, err := b.Schema(ctx)
	require.NoError(t, err)
	require.Equal(t, sb, sa)
	stripesA, err := a.Stripes(ctx)
	require.NoError(t, err)
	stripesB, err := b.Stripes(ctx)
	require.NoError(t, err)
	require.Len(t, stripesA, len(stripesB))
	require.Equal(t, b.Directory().GetRawDataSize(), a.Directory().GetRawDataSize())
	for i := range stripesA {
		require.Equal(t, stripesB[i].TotalRecordCount, stripesA[i].TotalRecordCount)
		require.Equal(t, stripesB[i].ShardPosition, stripesA[i].ShardPosition)
		require.Equal(t, stripesB[i].GetRawDataSize(), stripesA[i].GetRawDataSize())
	}
	for id := range sa.Count {
		fa, err := a.ShardField(ctx, id)
		require.NoError(t, err)
		fb, err := b.ShardField(ctx, id)
		require.NoError(t, err)
		require.Equal(t, prototext.Format(fb), prototext.Format(fa), "field %d", id)
		for i := range stripesA {
			da, _, err := a.StripeField(ctx, i, id)
			require.NoError(t, err)
			db, _, err := b.StripeField(ctx, i, id)
			require.NoError(t, err)
			nameless(da)
			nameless(db)
			require.True(t, proto.Equal(db, da), "stripe %d, field %d", i, id)
		}
	}
	ua, err := a.URLList(ctx)
	require.NoError(t, err)
	ub, err := b.URLList(ctx)
	require.NoError(t, err)
	require.Len(t, ua.Urls, len(ub.Urls))
}

// nameless takes the names of objects away, leaving only that there is one.
func nameless(d *metapb.StripeFieldDescriptor) {
	nameBlockMaps(d)
	meta.RewriteURLs(d, func(string) string { return path.Base("object") })
}
