package compaction

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// everyNth has n rows, with ids from first on, step apart.
func everyNth(first, step, n int) *source {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(`{"id":%d,"name":"n","tags":null}`, first+i*step))
	}
	return &source{fields(), "[" + strings.Join(out, ",") + "]"}
}

// Shards at the target that hold the same values become shards that follow one another, and then are left alone: a filter on one value
// reads one.
func TestOverlappingShardsAreSeparated(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	for i := range 5 {
		if _, err := tbl.Ingest(ctx, everyNth(i, 5, 20), catalog.IngestOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tbl.Ingest(ctx, everyNth(1000, 1, 20), catalog.IngestOptions{}); err != nil { // overlaps with none
		t.Fatal(err)
	}
	before := contents(t, tbl)
	where, err := filter.Parse("id = 50")
	if err != nil {
		t.Fatal(err)
	}
	reads := func() int {
		plan, err := tbl.Plan(ctx, catalog.ScanOptions{Where: where})
		if err != nil {
			t.Fatal(err)
		}
		return len(plan.Shards)
	}
	if n := reads(); n != 5 {
		t.Fatalf("%d shards are read at first", n)
	}
	policy := Policy{TargetRecords: 20, MaxOverlapDepth: 5, Order: "id"}
	if report, err := Compact(ctx, tbl, policy, Options{}); err != nil || len(report.Results) != 0 || report.Plan.Left[hasRecords] != 6 {
		t.Errorf("a depth of 5 is allowed: %+v, %v", report.Plan, err)
	}
	policy.MaxOverlapDepth = 4
	report, err := Compact(ctx, tbl, policy, Options{Check: true})
	if err != nil || len(report.Results) != 1 || report.Results[0].Inputs != 5 || report.Plan.Groups[0].Outputs != 5 || report.ShardsAfter != 6 {
		t.Fatalf("%+v, %v", report, err)
	}
	if n := reads(); n != 1 {
		t.Errorf("%d shards are read in the end", n)
	}
	if report, err := Compact(ctx, tbl, policy, Options{}); err != nil || len(report.Results) != 0 {
		t.Errorf("not left alone: %+v, %v", report, err)
	}
	sameContents(t, g.load(nil), before)
}

// What can't be had is reported, and changes nothing.
func TestOverlapThatCannotBeHelped(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	for range 3 {
		if _, err := tbl.Ingest(ctx, everyNth(7, 0, 20), catalog.IngestOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for order, want := range map[string]string{"": "needs an order", "name": "numbers and times", "id": ""} {
		plan, err := NewPlan(ctx, tbl, Policy{TargetRecords: 20, MaxOverlapDepth: 1, Order: order})
		if err != nil || len(plan.Groups) != 0 || plan.Left[hasRecords] != 3 {
			t.Errorf("order %q: %+v, %v", order, plan, err)
		}
		if got := strings.Join(plan.Unmet, "; "); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("order %q: %q", order, got)
		}
	}
}
