package tablescan_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// TestFilterIsBoundOnce: a plan binds a filter to the table's schema, and a scan has no other: shards of that schema and of one with other names get
// it adapted, and those that lack a column, or have it of another type, filter by it what they give.
func TestFilterIsBoundOnce(t *testing.T) {
	ctx := context.Background()
	tbl := remoteTable(t, "id: Int64, name: String, old: Int32")
	oneShard(t, tbl, "id: Int64, name: String, old: Int32", `[{"id":1,"name":"a","old":5},{"id":2,"name":"b","old":6}]`)
	added, err := schema.Parse("more: Int64")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(tbl.RenameColumn(ctx, "name", "title"), tbl.AddColumns(ctx, added), tbl.WidenColumn(ctx, "old", added.Fields[0])); err != nil {
		t.Fatal(err)
	}
	oneShard(t, tbl, "id: Int64, title: String, old: Int64, more: Int64", `[{"id":3,"title":"a","old":5,"more":7}]`)
	all, err := tbl.Plan(ctx, catalog.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for text, c := range map[string]struct {
		pushed []bool // by shard
		rows   int64
	}{
		"title = 'a' AND id < 3": {[]bool{true, true}, 1},
		"title = 'a'":            {[]bool{true, true}, 2},
		"more IS NULL":           {[]bool{false, true}, 2},
		"old = 5":                {[]bool{false, true}, 2},
	} {
		p, err := tbl.PlanOf(all.Shards, catalog.ScanOptions{Where: where(t, text)})
		if err != nil {
			t.Fatal(err)
		}
		if p.Options().Where != filter.Expr(p.Bound()) {
			t.Errorf("%s: the plan has a filter besides the bound one", text)
		}
		if again, err := tbl.PlanOf(p.Shards, p.Options()); err != nil || again.Bound() != p.Bound() {
			t.Errorf("%s: a plan of the plan's filter binds it again: %v", text, err)
		}
		var pushed []bool
		for _, e := range p.Shards {
			of, left, err := p.Pushed(ctx, e)
			if err != nil {
				t.Fatal(err)
			}
			if left != nil && left != p.Bound() || (left == nil) != (of != nil) {
				t.Errorf("%s of %s: filter %v besides %v", text, e.Path, left, of)
			}
			pushed = append(pushed, of != nil)
		}
		if !slices.Equal(pushed, c.pushed) {
			t.Errorf("%s: pushed down %v, want %v", text, pushed, c.pushed)
		}
		rows, err := p.Count(ctx, nil)
		if err != nil || rows != c.rows {
			t.Errorf("%s: %d rows, want %d: %v", text, rows, c.rows, err)
		}
	}
}
