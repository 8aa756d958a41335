package compaction

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Shards with standard properties are left alone; where the policy admits them, only those of the same drop-by tags come together, by a
// merge as by a rebuild.
func TestDropByTagsStayApart(t *testing.T) {
	for _, mode := range []Mode{Concat, Rebuild} {
		g := newGround(t)
		tbl := g.create()
		for i, tags := range [][]string{{"a", "b"}, {"c"}, {"b", "a"}, {"c"}, nil, nil} {
			o := catalog.IngestOptions{CreationTime: time.Date(2024, 1, 1, 0, i, 0, 0, time.UTC)}
			for _, tag := range tags {
				o.StandardProperties = append(o.StandardProperties, shardfmt.TextProperty("drop-by", tag))
			}
			if _, err := tbl.Ingest(ctx, rows(10*i, 10), o); err != nil {
				t.Fatal(err)
			}
		}
		before := contents(t, tbl)
		if report, err := Compact(ctx, tbl, Policy{}, Options{}); err != nil || len(report.Results) != 1 || report.Results[0].Inputs != 2 {
			t.Fatalf("%s: only the shards without tags: %+v, %v", mode, report, err)
		}
		tbl = g.load(nil)
		report, err := Compact(ctx, tbl, Policy{Tagged: true, RebuildAll: mode == Rebuild}, Options{Check: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range report.Results {
			if r.Inputs > 2 {
				t.Errorf("%s: a group of %d", mode, r.Inputs)
			}
		}
		again := g.load(nil)
		if got := contents(t, again); !slices.Equal(got, before) {
			t.Errorf("%s: %d rows became %d others", mode, len(before), len(got))
		}
		var got []string
		for _, e := range entriesOf(t, again) {
			r, err := shardfmt.Open(ctx, blobio.NewClient(blobio.ClientOptions{}), e.Path, shardfmt.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			bags, err := r.Properties(ctx)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(bags.DropByTags(), e.Records))
		}
		slices.Sort(got)
		if want := []string{"[] 20", "[a b] 20", "[c] 20"}; !slices.Equal(got, want) {
			t.Errorf("%s: %v", mode, got)
		}
	}
}

// What a table's schema states about nulls is in its shards, and in those that compaction makes of them, also after a rebuild.
func TestCompactionKeepsRequired(t *testing.T) {
	for mode, policy := range map[Mode]Policy{Concat: {}, Pack: {PackAll: true}, Rebuild: {RebuildAll: true}} {
		g := newGround(t)
		s := placesSchema()
		s.Fields[0].Nullable = false
		tbl, err := g.open(nil).Create(ctx, name, catalog.CreateOptions{Schema: s, CreateNamespace: true})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			if _, err := tbl.Ingest(ctx, places(10*i, 10), catalog.IngestOptions{CreationTime: time.Date(2024, 1, 1, 0, i, 0, 0, time.UTC)}); err != nil {
				t.Fatal(err)
			}
		}
		if report, err := Compact(ctx, tbl, policy, Options{Check: true}); err != nil || len(report.Results) != 1 || report.Results[0].Mode != mode {
			t.Fatalf("%s: %+v, %v", mode, report, err)
		}
		if got := schemaStored(t, g.load(nil)); got != "id: Int64 not null, pos: Struct<x: Float64, name: String>" {
			t.Errorf("%s: %s", mode, got)
		}
	}
}

// schemaStored is the schema of a table's only shard.
func schemaStored(t *testing.T, tbl *catalog.Table) string {
	t.Helper()
	entries := entriesOf(t, tbl)
	if len(entries) != 1 {
		t.Fatalf("%d shards", len(entries))
	}
	r, err := shardfmt.Open(ctx, blobio.NewClient(blobio.ClientOptions{}), entries[0].Path, shardfmt.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var s *schema.Schema
	if s, err = r.Schema(ctx); err != nil {
		t.Fatal(err)
	}
	return s.String()
}
