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
	r, err := Compact(ctx, tbl, Policy{NoRebuild: true}, Options{Check: true})
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

// From a share on, deleted records are worth writing the others again.
func TestManyDeletedRecordsAreRebuilt(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 3)
	where, err := filter.Parse("id IN (1, 2, 11)")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tbl.Delete(ctx, where, catalog.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	before := contents(t, tbl)
	r, err := Compact(ctx, tbl, Policy{RebuildDeletedRatio: 0.2}, Options{Check: true})
	if err != nil || len(r.Results) != 1 || r.Results[0].Mode != Rebuild || r.Results[0].Inputs != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	var deleted []int64
	for e, err := range tbl.Entries(ctx, catalog.At{}) {
		if err != nil {
			t.Fatal(err)
		}
		deleted = append(deleted, e.Deleted)
	}
	slices.Sort(deleted)
	if !slices.Equal(deleted, []int64{0, 0, 1}) {
		t.Errorf("deleted records left: %v, want one shard of three with one", deleted)
	}
	if got := contents(t, g.load(nil)); !slices.Equal(got, before) || len(got) != 27 {
		t.Errorf("%d rows became %d others", len(before), len(got))
	}
}
