package meta

import (
	"context"
	"errors"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/schemawire"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// TestPartsOfAStripe: a part that is lost is an error, and not the same as one that the stripe does not have.
func TestPartsOfAStripe(t *testing.T) {
	ctx, gone := context.Background(), NewRef("gone", 0, 9)
	sch, err := schema.Parse("a: Int64")
	if err != nil {
		t.Fatal(err)
	}
	open := func(change func(dir *metapb.ShardDirectory, s *metapb.StripeDirectory)) *Root {
		b := NewRootBuilder()
		dir := &metapb.ShardDirectory{TotalRecordCount: 1, StripeCount: 1, SchemaRef: b.AddPayload(schemawire.Marshal(sch)),
			FieldListRef: b.Add(RefsOf(make([]*metapb.DataRef, 1))), UrlListRef: b.Add(&metapb.UrlList{})}
		s := &metapb.StripeDirectory{TotalRecordCount: 1, FieldListRef: b.Add(RefsOf(make([]*metapb.DataRef, 1)))}
		change(dir, s)
		if dir.StripeListRef == nil {
			dir.StripeListRef = b.Add(&metapb.StripeList{Stripes: []*metapb.StripeDirectory{s}})
		}
		return openBytes(t, b.Finish(dir))
	}
	parts := map[string]func(*Root) (any, error){
		"properties": func(r *Root) (any, error) { return r.StripeProperties(ctx, 0) },
		"indexes":    func(r *Root) (any, error) { return r.StripeIndexes(ctx, 0) },
		"fields":     func(r *Root) (any, error) { f, _, err := r.StripeFieldList(ctx, 0); return f, err },
		"field":      func(r *Root) (any, error) { f, _, err := r.StripeField(ctx, 0, 0); return f, err },
		"list":       func(r *Root) (any, error) { return r.StripeList(ctx) },
		"anchor":     func(r *Root) (any, error) { return r.StripeAnchor(ctx) },
	}
	for lost, c := range map[string]struct {
		change func(dir *metapb.ShardDirectory, s *metapb.StripeDirectory)
		with   []string // the parts that are lost too
	}{
		"nothing":    {change: func(*metapb.ShardDirectory, *metapb.StripeDirectory) {}},
		"properties": {change: func(_ *metapb.ShardDirectory, s *metapb.StripeDirectory) { s.PropertiesRef = gone }, with: []string{"properties"}},
		"indexes":    {change: func(_ *metapb.ShardDirectory, s *metapb.StripeDirectory) { s.IndexesRef = gone }, with: []string{"indexes"}},
		"fields":     {change: func(_ *metapb.ShardDirectory, s *metapb.StripeDirectory) { s.FieldListRef = gone }, with: []string{"fields", "field"}},
		"all":        {change: func(dir *metapb.ShardDirectory, _ *metapb.StripeDirectory) { dir.StripeListRef = gone }, with: []string{"properties", "indexes", "fields", "field", "list", "anchor"}},
	} {
		want := map[string]bool{}
		for _, name := range c.with {
			want[name] = true
		}
		r := open(c.change)
		for name, read := range parts {
			if _, err := read(r); errors.Is(err, corrupt.ErrCorrupt) != want[name] || err != nil != want[name] {
				t.Errorf("without %s: %s: %v", lost, name, err)
			}
		}
	}
}
