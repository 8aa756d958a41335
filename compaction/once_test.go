package compaction_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// TestOneRunIsEnough: what one run makes of many small appends the next leaves as it is, and scans take few requests: tiny shards are rewritten at once, larger ones
// packed at once.
func TestOneRunIsEnough(t *testing.T) {
	for _, c := range []struct {
		name         string
		shards, rows int
		mode         compaction.Mode
	}{{"tiny", 200, 1000, compaction.Rebuild}, {"middling", 70, 9000, compaction.Pack}} {
		t.Run(c.name, func(t *testing.T) {
			s := newSlowStore(t)
			s.fill(t, c.shards, c.rows)
			work := s.measure(t, func(t *testing.T, table *catalog.Table) int64 {
				r, err := compaction.Compact(t.Context(), table, compaction.Policy{}, compaction.Options{})
				if err != nil || len(r.Results) != 1 || r.Results[0].Mode != c.mode || r.ShardsAfter != 1 {
					t.Fatalf("%+v, %v", r, err)
				}
				t.Logf("planned: %d GETs, %d PUTs, scan %+v", r.Plan.Groups[0].Gets, r.Plan.Groups[0].Puts, *r.Plan.Groups[0].Scan)
				return r.BytesMoved
			})
			t.Logf("work: %+v", work)
			s.with(t, func(table *catalog.Table) {
				plan, err := compaction.NewPlan(t.Context(), table, compaction.Policy{})
				if err != nil || len(plan.Groups) != 0 {
					t.Errorf("%+v, %v: the next run is to do something", plan, err)
				}
			})
			for name, do := range map[string]func(*testing.T, *catalog.Table) int64{
				"two columns": scan("", "id", "v"), "all columns": scan(""), "filter": scan(fmt.Sprintf("v < %d", (1<<40)/c.rows), "id", "v", "s"),
			} {
				after := s.measure(t, do)
				t.Logf("%s: %+v", name, after)
				if after.gets > 32 || after.steps > 7 || after.rows == 0 {
					t.Errorf("%s: %+v, want at most 32 requests in 7 steps", name, after)
				}
			}
		})
	}
}

// TestIndexesAreNoObjects: the objects of indexes don't count as those of a shard, so that shards with indexes are of one group as others are; the packed
// shard, whose indexes stay where they are, is not packed again, and one that is rewritten has a full stripe with its indexes.
func TestIndexesAreNoObjects(t *testing.T) {
	for mode, noPack := range map[compaction.Mode]bool{compaction.Pack: false, compaction.Rebuild: true} {
		t.Run(string(mode), func(t *testing.T) { indexesAreNoObjects(t, mode, noPack) })
	}
}

func indexesAreNoObjects(t *testing.T, mode compaction.Mode, noPack bool) {
	const shards, rows = 70, 9000
	s := newSlowStore(t)
	s.fillWith(t, shards, rows, map[string]string{catalog.IndexesProperty: "hash:id text:s"})
	policy := compaction.Policy{MaxObjects: shards + 10, PackObjects: 2, NoPack: noPack}
	s.with(t, func(table *catalog.Table) {
		r, err := compaction.Compact(t.Context(), table, policy, compaction.Options{})
		if err != nil || r.ShardsAfter != 1 || len(r.Results) != 1 || r.Results[0].Mode != mode {
			t.Fatalf("%+v, %v", r, err)
		}
		if plan, err := compaction.NewPlan(t.Context(), table, policy); err != nil || len(plan.Groups) != 0 {
			t.Errorf("%+v, %v: the next run is to do something", plan, err)
		}
		for e, err := range table.Entries(t.Context(), catalog.At{}) {
			if err != nil || (e.Objects > shards) != (mode == compaction.Pack) || (e.Stripes == 1) != (mode == compaction.Rebuild) || e.DataObjects != 1 || e.ColumnRanges != 1 {
				t.Errorf("%+v, %v", e.Private, err)
			}
		}
	})
	after := s.measure(t, scan("", "id", "v"))
	t.Logf("%+v", after)
	if after.gets > 12 || after.steps > 7 || after.rows != shards*rows {
		t.Errorf("two columns: %+v, want at most 12 requests in 7 steps", after)
	}
}

// TestManyColumnsAreMovedOnce: small stripes of many columns, which can't be laid out by columns, are rewritten at once and not packed before.
func TestManyColumnsAreMovedOnce(t *testing.T) {
	const shards, rows, columns = 64, 400, 60
	s := newSlowStore(t)
	s.fill(t, 1, 1)
	s.with(t, func(table *catalog.Table) {
		names := []string{}
		for i := range columns {
			names = append(names, fmt.Sprintf("c%02d: Int64", i))
		}
		of, err := schema.Parse(strings.Join(names, ", "))
		if err != nil {
			t.Fatal(err)
		}
		wide, err := table.Catalog().Create(t.Context(), catalog.Name{Namespace: "default", Table: "wide"}, catalog.CreateOptions{Schema: of})
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 2))
		b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(of))
		for range shards * rows {
			for i := range columns {
				b.Field(i).(*array.Int64Builder).Append(int64(r.Uint64()))
			}
		}
		s.ingest(t, wide, &recordSource{schema: of, batch: b.NewRecordBatch()}, rows)
		report, err := compaction.Compact(t.Context(), wide, compaction.Policy{}, compaction.Options{})
		if err != nil || len(report.Results) != 1 || report.Results[0].Mode != compaction.Rebuild || report.Plan.Groups[0].Bytes < 128<<10*shards {
			t.Fatalf("%+v, %v", report, err)
		}
		if plan, err := compaction.NewPlan(t.Context(), wide, compaction.Policy{}); err != nil || len(plan.Groups) != 0 {
			t.Errorf("%+v, %v: the next run is to do something", plan, err)
		}
	})
}
