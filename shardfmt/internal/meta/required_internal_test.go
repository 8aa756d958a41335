package meta

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/schemawire"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// A node is found in the text by looking at few of its numbers, and is there for the search if and only if it is for who reads all.
func TestRequiredHas(t *testing.T) {
	const nodes = 3000
	for _, step := range []uint32{1, 2, 7, 999, nodes} {
		var ids []uint32
		for id := step / 2; id < nodes; id += step {
			ids = append(ids, id)
		}
		text := FormatRequired(ids)
		for id := range uint32(nodes) {
			want := id%step == step/2
			if got, err := requiredHas(text, id, nodes); got != want || err != nil {
				t.Fatalf("%d of every %d: %v, %v", id, step, got, err)
			}
		}
	}
	for _, bad := range []string{"x", ",", "1,,2", "1,3000", "-1", "1,4294967296,2", strings.Repeat("1", 1000), strings.Repeat(",", 1000)} {
		if _, err := requiredHas(bad, 1500, nodes); err == nil {
			t.Errorf("%.20q passes", bad)
		}
	}
}

// TestRequiredText: what is written is read again, and numbers that do not rise, or that no node has, are refused.
func TestRequiredText(t *testing.T) {
	for _, c := range []struct {
		text  string
		ids   []uint32
		valid bool
	}{
		{"", nil, true}, {"0", []uint32{0}, true}, {"3", []uint32{3}, true}, {"0,1,2,3", []uint32{0, 1, 2, 3}, true}, {"1,3", []uint32{1, 3}, true},
		{",1", nil, false}, {"1,", nil, false}, {"1,1", nil, false}, {"3,1", nil, false}, {"0,2,1", nil, false}, {"4", nil, false}, {"0,1,2,3,3", nil, false},
		{"-1", nil, false}, {"x", nil, false},
	} {
		got, err := ParseRequired(c.text, 4)
		if (err == nil) != c.valid || !slices.Equal(got, c.ids) {
			t.Errorf("%q: %v, %v", c.text, got, err)
		}
		if text := FormatRequired(c.ids); c.valid && text != c.text {
			t.Errorf("%v: got %q, want %q", c.ids, text, c.text)
		}
	}
}

// TestPropertiesOfTheShard: a property that can't be read, or is not what its name states, is an error wherever it is needed, and never as if the
// shard had none.
func TestPropertiesOfTheShard(t *testing.T) {
	ctx := context.Background()
	sch, err := schema.Parse("a: Int64, b: Int64")
	if err != nil {
		t.Fatal(err)
	}
	bag := func(b *RootBuilder, p ...*metapb.NameValuePair) *metapb.DataRef {
		return b.Add(&metapb.ShardProperties{CustomProperties: p})
	}
	for name, c := range map[string]struct {
		properties, schema func(b *RootBuilder) *metapb.DataRef
		ids                []uint32
		text               string
		err                error // of Required and Schema
		damaged            bool  // the properties as a whole
	}{
		"none":    {properties: func(*RootBuilder) *metapb.DataRef { return nil }},
		"one":     {properties: func(b *RootBuilder) *metapb.DataRef { return bag(b, Pair(PropertyRequired, Text("1"))) }, ids: []uint32{1}, text: "1"},
		"others":  {properties: func(b *RootBuilder) *metapb.DataRef { return bag(b, Pair("x", Text("1"))) }},
		"no text": {properties: func(b *RootBuilder) *metapb.DataRef { return bag(b, Pair(PropertyRequired, integer(1))) }, err: corrupt.ErrCorrupt},
		"no node": {properties: func(b *RootBuilder) *metapb.DataRef { return bag(b, Pair(PropertyRequired, Text("2"))) }, text: "2", err: corrupt.ErrCorrupt},
		"a lost value": {properties: func(b *RootBuilder) *metapb.DataRef {
			return bag(b, Pair(PropertyRequired, &metapb.AnyValue{Kind: &metapb.AnyValue_DataRef{DataRef: NewRef("gone", 0, 9)}}))
		}, err: corrupt.ErrCorrupt},
		"lost properties":   {properties: func(*RootBuilder) *metapb.DataRef { return NewRef("gone", 0, 9) }, err: corrupt.ErrCorrupt, damaged: true},
		"other bytes":       {properties: func(b *RootBuilder) *metapb.DataRef { return b.AddPayload([]byte{0xFF, 0xFF}) }, err: corrupt.ErrCorrupt, damaged: true},
		"refused":           {properties: func(*RootBuilder) *metapb.DataRef { return NewRef("mem://elsewhere/x", 0, 9) }, err: urlresolve.ErrRefused, damaged: true},
		"no schema to them": {properties: func(b *RootBuilder) *metapb.DataRef { return bag(b, Pair(PropertyRequired, Text("1"))) }, text: "1", err: corrupt.ErrCorrupt, schema: func(*RootBuilder) *metapb.DataRef { return NewRef("gone", 0, 9) }},
	} {
		b := NewRootBuilder()
		dir := &metapb.ShardDirectory{FieldListRef: b.Add(RefsOf(make([]*metapb.DataRef, 2))), UrlListRef: b.Add(&metapb.UrlList{}), StripeListRef: b.Add(&metapb.StripeList{})}
		if dir.PropertiesRef, dir.SchemaRef = c.properties(b), b.AddPayload(schemawire.Marshal(sch)); c.schema != nil {
			dir.SchemaRef = c.schema(b)
		}
		r := openBytes(t, b.Finish(dir))
		ids, err := r.Required(ctx)
		if !errors.Is(err, c.err) || !slices.Equal(ids, c.ids) {
			t.Errorf("%s: Required is %v, %v, want %v, %v", name, ids, err, c.ids, c.err)
		}
		s, err := r.Schema(ctx)
		if !errors.Is(err, c.err) || err == nil && !slices.Equal(s.Required(), c.ids) {
			t.Errorf("%s: Schema is %v, %v, want %v, %v", name, s, err, c.ids, c.err)
		}
		nodes := slices.Clone(sch.Fields)
		for i, n := range nodes {
			one := *n
			nodes[i] = &one
		}
		if err := r.MarkRequired(ctx, nodes); !errors.Is(err, c.err) && name != "no node" { // of the nodes that are marked, all are right
			t.Errorf("%s: MarkRequired is %v, want %v", name, err, c.err)
		}
		text, ok, err := r.OwnText(ctx, PropertyRequired)
		if want := c.err != nil && c.text == ""; text != c.text || ok != (c.text != "") || (err != nil) != want {
			t.Errorf("%s: OwnText is %q, %v, %v, want %q", name, text, ok, err, c.text)
		}
		if p, err := r.Properties(ctx); (err != nil) != c.damaged || err == nil && p == nil {
			t.Errorf("%s: Properties is %v, %v", name, p, err)
		}
	}
}
