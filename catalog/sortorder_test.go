package catalog

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/manifest"
)

// rebuildAll rewrites the rows of all shards, and gives the job that did.
func rebuildAll(t *testing.T, tbl *Table) *Job {
	t.Helper()
	ctx := context.Background()
	j, entries, err := beginRebuild(ctx, tbl)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Replace(ctx, j.Inputs(), entries); err != nil {
		t.Fatal(err)
	}
	return j
}

// TestSortOrder: rows come sorted within each shard, however many batches, shards and partitions there are, and entries report it.
func TestSortOrder(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl, err := c.Create(ctx, tableName, CreateOptions{
		Schema: people(), CreateNamespace: true, Partition: []string{"bucket(2, small)"},
		SortOrder: []OrderKey{{Column: "id", Descending: true}, {Column: "ts"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ingest(t, tbl, IngestOptions{ShardRows: 7}, rows(0, 20), rows(40, 20), rows(20, 20))
	inOrder := func(tbl *Table, order int) (shards int) {
		t.Helper()
		for e, err := range tbl.Entries(ctx, At{}) {
			if err != nil {
				t.Fatal(err)
			}
			plan, err := tbl.PlanOf([]*manifest.Entry{e}, ScanOptions{Ordered: true, Select: []string{"id"}})
			if err != nil {
				t.Fatal(err)
			}
			var ids []int64
			for b, err := range plan.Run(ctx, nil) {
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, b.Column(0).(*array.Int64).Int64Values()...)
			}
			sorted := slices.IsSortedFunc(ids, func(a, b int64) int { return int(b - a) })
			if sorted != (order > 0) || e.SortOrderID != order {
				t.Errorf("%s: order %d of %v", e.Path, e.SortOrderID, ids)
			}
			shards++
		}
		return shards
	}
	if n := inOrder(g.load(g.open(nil, nil)), 1); n < 8 {
		t.Errorf("%d shards", n)
	}
	if got := g.load(c).Describe().SortOrder; got != "id desc, ts" {
		t.Errorf("described as %q", got)
	}
	if _, err := tbl.Overwrite(ctx, where(t, "id >= 0"), source(rows(5, 5), rows(0, 5)), IngestOptions{}); err != nil {
		t.Fatal(err)
	}
	inOrder(tbl, 1)
	// None, and back: the order keeps its number.
	if err := tbl.SortBy(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := tbl.Truncate(ctx, DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	inOrder(tbl, 0)
	if err := tbl.SortBy(ctx, []OrderKey{{Column: "id", Descending: true}, {Column: "ts"}}); err != nil {
		t.Fatal(err)
	}
	if id := tbl.ice.Metadata().DefaultSortOrder(); id != 1 {
		t.Errorf("order %d", id)
	}
	// What is rebuilt gets the order.
	rebuildAll(t, tbl)
	inOrder(tbl, 1)
	if err := tbl.DropColumn(ctx, "ts"); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "sorted by it") {
		t.Errorf("a column of the order: %v", err)
	}
	if err := tbl.RenameColumn(ctx, "id", "number"); err != nil || tbl.Describe().SortOrder != "number desc, ts" {
		t.Errorf("%v, described as %q", err, tbl.Describe().SortOrder)
	}
	for text, want := range map[string]string{"tags": "other engines", "nobody": "nobody", "ts, ts": "twice"} {
		keys, err := ParseOrder(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := tbl.SortBy(ctx, keys); !errors.Is(err, ErrInvalid) || !strings.Contains(strings.ToLower(err.Error()), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
