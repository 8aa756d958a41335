package compaction_test

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// TestLookupSteps: one row by an indexed id, of a table that was not loaded before, costs a bounded number of dependent requests.
func TestLookupSteps(t *testing.T) {
	const rows = 150_000
	s := newSlowStore(t)
	cat, client := s.open(t, 0)
	defer client.Close()
	defer cat.Close()
	of, err := schema.Parse("id: Int64, a: Int64, b: Int64, c: Int64, d: String")
	if err != nil {
		t.Fatal(err)
	}
	table, err := cat.Create(t.Context(), stepsTable, catalog.CreateOptions{Schema: of, CreateNamespace: true,
		Properties: map[string]string{catalog.IndexesProperty: "hash:id"}})
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(of))
	n := uint64(1)
	for i := range rows {
		b.Field(0).(*array.Int64Builder).Append(int64(i) * 7919 % 1_000_003 * 12_345_678_901)
		for k := 1; k < 4; k++ {
			n = n*6364136223846793005 + 1442695040888963407
			b.Field(k).(*array.Int64Builder).Append(int64(n >> 1))
		}
		b.Field(4).(*array.LargeStringBuilder).Append(fmt.Sprintf("%x", n))
	}
	if _, err := table.Ingest(t.Context(), &recordSource{schema: of, batch: b.NewRecordBatch()}, catalog.IngestOptions{}); err != nil {
		t.Fatal(err)
	}
	got := s.measure(t, scan("id = 97765431217019", "id", "a", "b", "c", "d"))
	t.Logf("a lookup: %+v", got)
	if got.rows != 1 || got.steps > 7 || got.gets > 17 {
		t.Errorf("a lookup: %+v, want 1 row in at most 7 steps and 17 requests", got)
	}
	got = s.measure(t, scan("id = 97765431217020", "id", "a", "b", "c", "d"))
	t.Logf("a lookup of no row: %+v", got)
	if got.rows != 0 || got.steps > 4 || got.gets > 5 {
		t.Errorf("a lookup of no row: %+v, want 0 rows in at most 4 steps and 5 requests", got)
	}
}
