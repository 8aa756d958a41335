package merge

import (
	"context"
	"errors"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/urlresolve"
)

// FuzzConcat merges a shard with any bytes: an error of a known kind, or a root that opens.
func FuzzConcat(f *testing.F) {
	sp, at := newSpace(f)
	in := spec{schema: "a: Int64, s: Struct<b: String>", ids: []int{1, 2, 3}, stripes: []uint64{3, 4}, creation: [2]uint64{1, 2}}.make(f, sp, at+"a.amudai.shard")
	seed := make([]byte, in.Size)
	_, err := sp.ReadRange(context.Background(), in.URL, 0, seed)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 0 {
			tryConcat(t, seed, b)
		}
	})
}

func tryConcat(t testing.TB, good, b []byte) {
	ctx := context.Background()
	sp, at := newSpace(t)
	if err := sp.Put(ctx, at+"good.amudai.shard", good); err != nil {
		t.Fatal(err)
	}
	if err := sp.Put(ctx, at+"any.amudai.shard", b); err != nil {
		t.Fatal(err)
	}
	in := []Input{{URL: at + "good.amudai.shard"}, {URL: at + "any.amudai.shard", Size: int64(len(b))}}
	res, err := Concat(ctx, sp, at+"out.amudai.shard", in, Options{AllowExternal: true, AllowStandard: true})
	if err != nil {
		for _, kind := range []error{corrupt.ErrCorrupt, corrupt.ErrUnsupported, urlresolve.ErrRefused, blobio.ErrNotFound,
			ErrSchema, errDeleted, errTags, errLimit} {
			if errors.Is(err, kind) {
				return
			}
		}
		t.Fatalf("an error of no known kind: %v", err)
	}
	r, err := meta.OpenRoot(ctx, sp, res.URL, meta.Options{Size: res.Size})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Stripes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Schema(ctx)
	if err != nil {
		t.Fatal(err)
	}
}

// TestConcatDamaged flips every byte of an input.
func TestConcatDamaged(t *testing.T) {
	sp, at := newSpace(t)
	in := spec{schema: "a: Int64, b: String", ids: []int{1, 2}, stripes: []uint64{3, 4}}.make(t, sp, at+"a.amudai.shard")
	b := make([]byte, in.Size)
	_, err := sp.ReadRange(context.Background(), in.URL, 0, b)
	if err != nil {
		t.Fatal(err)
	}
	good := append([]byte(nil), b...)
	for i := range b {
		b[i] ^= 0x11
		tryConcat(t, good, b)
		b[i] ^= 0x11
	}
}
