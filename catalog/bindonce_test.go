package catalog

import (
	"context"
	"slices"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// TestFilterIsBoundOnce: a plan binds a filter to the table's schema, and a scan has no other: shards of that schema and of one with other names get
// it adapted, and those that lack a column, or have it of another type, filter by it what they give.
func TestFilterIsBoundOnce(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	s, err := schema.Parse("id: Int64, name: String, old: Int32")
	if err != nil {
		t.Fatal(err)
	}
	tbl, err := g.open(nil, nil).Create(ctx, tableName, CreateOptions{Schema: s, CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	oneShard(t, tbl, "id: Int64, name: String, old: Int32", `[{"id":1,"name":"a","old":5},{"id":2,"name":"b","old":6}]`)
	evolve(t, tbl, func(u *table.UpdateSchema) {
		u.RenameColumn([]string{"name"}, "title").AddColumn([]string{"more"}, iceberg.PrimitiveTypes.Int64, "", false, nil).
			UpdateColumn([]string{"old"}, table.ColumnUpdate{FieldType: iceberg.Optional[iceberg.Type]{Val: iceberg.PrimitiveTypes.Int64, Valid: true}})
	})
	oneShard(t, tbl, "id: Int64, title: String, old: Int64, more: Int64", `[{"id":3,"title":"a","old":5,"more":7}]`)
	all, err := tbl.Plan(ctx, ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for text, c := range map[string]struct {
		pushed []bool // by shard
		rows   int
	}{
		"title = 'a' AND id < 3": {[]bool{true, true}, 1},
		"title = 'a'":            {[]bool{true, true}, 2},
		"more IS NULL":           {[]bool{false, true}, 2},
		"old = 5":                {[]bool{false, true}, 2},
	} {
		p, err := tbl.PlanOf(all.Shards, ScanOptions{Where: where(t, text)})
		if err != nil {
			t.Fatal(err)
		}
		if p.options.Where != filter.Expr(p.bound) {
			t.Errorf("%s: the plan has a filter besides the bound one", text)
		}
		if again, err := tbl.PlanOf(p.Shards, p.options); err != nil || again.bound != p.bound {
			t.Errorf("%s: a plan of the plan's filter binds it again: %v", text, err)
		}
		var pushed []bool
		for _, e := range p.Shards {
			shard, err := p.open(ctx, tbl.cat.client, e)
			if err != nil {
				t.Fatal(err)
			}
			q, err := p.shardQuery(ctx, shard)
			if err != nil {
				t.Fatal(err)
			}
			if q.filter != nil && q.filter != p.bound || (q.filter == nil) != (q.options.Filter != nil) {
				t.Errorf("%s of %s: filter %v besides %v", text, e.Path, q.filter, q.options.Filter)
			}
			pushed = append(pushed, q.options.Filter != nil)
			shard.Close()
		}
		if !slices.Equal(pushed, c.pushed) {
			t.Errorf("%s: pushed down %v, want %v", text, pushed, c.pushed)
		}
		if got := scanText(t, tbl, ScanOptions{Where: p.bound}); len(got) != c.rows {
			t.Errorf("%s: %v, want %d rows", text, got, c.rows)
		}
	}
}
