package compaction

import (
	"slices"
	"testing"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// TestDeletedMergeOnlyWithEachOther: marked shards become one, unmarked ones another, and the rows stay.
func TestDeletedMergeOnlyWithEachOther(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	for i := range 6 {
		if _, err := tbl.Ingest(ctx, rows(i*10, 10), catalog.IngestOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	where, err := filter.Parse("id IN (1, 12, 23)")
	if err != nil {
		t.Fatal(err)
	}
	if d, err := tbl.Delete(ctx, where, catalog.DeleteOptions{}); err != nil || d.ShardsMarked != 3 {
		t.Fatalf("%+v, %v", d, err)
	}
	r, err := Compact(ctx, tbl, Policy{}, Options{Check: true})
	if err != nil || r.ShardsAfter != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	var records, deleted []int64
	for e, err := range tbl.Entries(ctx, catalog.At{}) {
		if err != nil {
			t.Fatal(err)
		}
		records, deleted = append(records, e.Records), append(deleted, e.Deleted)
	}
	slices.Sort(records)
	slices.Sort(deleted)
	if !slices.Equal(records, []int64{27, 30}) || !slices.Equal(deleted, []int64{0, 3}) {
		t.Errorf("%v live, %v deleted", records, deleted)
	}
	if n := tbl.Describe().Records; n != 57 {
		t.Errorf("%d rows", n)
	}
}
