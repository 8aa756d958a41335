package catalog

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt"
)

// TestNamesFollowColumns: properties that name columns mean the columns they were set for, whatever those are called now, and whatever
// else has got their names.
func TestNamesFollowColumns(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	g.create(c)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(g.load(c).AddColumn(ctx, "s", typed(t, "Struct<x: String, y: Int64>")))
	must(g.load(c).SetProperties(ctx, map[string]string{
		IndexesProperty: "text:s.x hash:id layer:small,ts", orderProperty: "small desc, s.y nulls first", whereProperty: "id >= 0 AND s.y = 1",
	}, nil))
	holds := func(when string, want map[string]string) {
		t.Helper()
		is := g.load(c).Properties()
		for key, text := range want {
			if is[key] != text {
				t.Errorf("%s: %s is %q, want %q", when, key, is[key], text)
			}
		}
	}
	must(g.load(c).RenameColumn(ctx, "id", "key"))
	must(g.load(c).RenameColumn(ctx, "s", "a b"))
	must(g.load(c).RenameColumn(ctx, "a b.y", "z.z"))
	must(g.load(c).RenameColumn(ctx, "small", "id")) // a name that another column had
	holds("renamed", map[string]string{
		IndexesProperty: "text:\"a b\".x hash:key layer:id,ts", orderProperty: `id desc, "a b"."z.z" nulls first`, whereProperty: `(key >= 0 AND "a b"."z.z" = 1)`,
	})
	must(g.load(c).RenameColumn(ctx, "a b", "s"))
	tbl := g.load(c)
	specs, err := tbl.Indexes()
	if err != nil || len(specs) != 3 || specs[0].Name() != "text:s.x" {
		t.Errorf("indexes %v, %v", specs, err)
	}
	// New shards have them, and more can be added and taken away.
	oneShard(t, tbl, "key: Int64, ts: DateTime, id: UInt8, s: Struct<x: String>", `[{"key":1,"ts":1,"id":1,"s":{"x":"word"}}]`)
	if _, err := tbl.AddIndex(ctx, mustSpec(t, "hash:ts"), IndexOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := tbl.DropIndex(ctx, "hash:key", IndexOptions{}); err != nil {
		t.Fatal(err)
	}
	holds("added and dropped", map[string]string{IndexesProperty: "text:s.x layer:id,ts hash:ts"})
	// An index goes with its column; what the policy names can't be dropped.
	if err := tbl.DropColumn(ctx, "id"); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "policy") {
		t.Errorf("dropped what the order names: %v", err)
	}
	if err := tbl.DropColumn(ctx, "s"); !errors.Is(err, ErrInvalid) {
		t.Errorf("dropped what the filter names: %v", err)
	}
	must(tbl.SetProperties(ctx, nil, []string{orderProperty, whereProperty}))
	must(tbl.DropColumn(ctx, "id"))
	must(tbl.AddColumn(ctx, "id", typed(t, "Int64"))) // another one
	holds("dropped", map[string]string{IndexesProperty: "text:s.x hash:ts"})
	if _, err := tbl.AddIndex(ctx, mustSpec(t, "hash:id"), IndexOptions{}); err != nil {
		t.Error(err)
	}
	holds("added again", map[string]string{IndexesProperty: "text:s.x hash:ts hash:id"})
	// The same text set again means the columns as they are called then.
	must(tbl.SetProperties(ctx, map[string]string{orderProperty: "id"}, nil))
	must(tbl.RenameColumn(ctx, "id", "old"))
	must(tbl.AddColumn(ctx, "id", typed(t, "Int64")))
	holds("renamed again", map[string]string{orderProperty: "old"})
	must(tbl.SetProperties(ctx, map[string]string{orderProperty: "id"}, nil))
	holds("set again", map[string]string{orderProperty: "id"})
	if err := tbl.SetProperties(ctx, map[string]string{columnsProperty: "{}"}, nil); !errors.Is(err, ErrUnsafe) {
		t.Errorf("%s set by hand: %v", columnsProperty, err)
	}
}

func mustSpec(t *testing.T, text string) shardfmt.IndexSpec {
	t.Helper()
	var s shardfmt.IndexSpec
	if err := s.Set(text); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestArrowTypesFollowColumns: the types that a table was made of stay those of their columns.
func TestArrowTypesFollowColumns(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	price := &arrow.Decimal128Type{Precision: 10, Scale: 2}
	s := arrow.NewSchema([]arrow.Field{{Name: "price", Type: price, Nullable: true}, {Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "s", Type: arrow.StructOf(arrow.Field{Name: "m", Type: price, Nullable: true}), Nullable: true}}, nil)
	tbl, err := g.open(nil, nil).Create(ctx, tableName, CreateOptions{Arrow: s, CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"price": "cost", "s.m": "k"} {
		if err := tbl.RenameColumn(ctx, from, to); err != nil {
			t.Fatal(err)
		}
	}
	r, err := tbl.Read(ctx, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	got := r.Schema()
	if !arrow.TypeEqual(got.Field(0).Type, price) || got.Field(0).Name != "cost" || !arrow.TypeEqual(got.Field(2).Type.(*arrow.StructType).Field(0).Type, price) {
		t.Errorf("types %v", got)
	}
}

// TestOrderText: what formatOrder writes is what ParseOrder reads, whatever columns are called.
func TestOrderText(t *testing.T) {
	for text, want := range map[string][]OrderKey{
		`a`:                                {{Column: "a"}},
		` a  DESC , b.c nulls first`:       {{Column: "a", Descending: true}, {Column: "b.c", NullsFirst: true}},
		`"a b" desc,"c,d"."e.f", g\.h`:     {{Column: "a b", Descending: true}, {Column: `c,d.e\.f`}, {Column: `g\.h`}},
		`"say ""x""" asc nulls last, desc`: {{Column: `say "x"`}, {Column: "desc"}},
		`"back\slash" desc nulls first`:    {{Column: `back\\slash`, Descending: true, NullsFirst: true}},
	} {
		got, err := ParseOrder(text)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
		if again, err := ParseOrder(formatOrder(want)); err != nil || !slices.Equal(again, want) {
			t.Errorf("%s: %+v, %v, want %+v", formatOrder(want), again, err, want)
		}
	}
	for _, bad := range []string{"", "a,", ",a", "a down", "a b c", "a,,b"} {
		if got, err := ParseOrder(bad); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %+v, %v", bad, got, err)
		}
	}
}
