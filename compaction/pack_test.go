package compaction

import (
	"fmt"
	"slices"
	"testing"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/testkit/crashtest"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// Packing copies bytes and changes no row; the plan reports what it costs before, and less is read afterwards.
func TestPack(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 5)
	before := contents(t, tbl)
	plan, err := NewPlan(ctx, tbl, Policy{NoRebuild: true, PackAll: true})
	if err != nil || len(plan.Groups) != 1 || plan.Groups[0].Mode != Pack || plan.Groups[0].BytesMoved == 0 {
		t.Fatalf("%+v, %v", plan, err)
	}
	group := plan.Groups[0]
	client := tbl.Catalog().Client()
	start := client.Counters()
	done, err := Execute(ctx, tbl, &group, Policy{NoRebuild: true, PackAll: true}, Options{})
	if err != nil || done.Mode != Pack || done.BytesMoved == 0 || done.BytesMoved > group.BytesMoved {
		t.Fatalf("%+v, %v", done, err)
	}
	const jobReads = 2
	if io := client.Counters().Sub(start); io.Gets > group.Gets+jobReads || io.Puts != group.Puts {
		t.Errorf("%d GETs and %d PUTs planned, %+v made", group.Gets, group.Puts, io)
	}
	tbl = g.load(nil)
	entries := entriesOf(t, tbl)
	if len(entries) != 1 || entries[0].Objects != 2 || entries[0].Stripes != 5 {
		t.Fatalf("%+v", entries)
	}
	sameContents(t, tbl, before)
	scanned := tbl.Catalog().Client().Counters()
	contents(t, tbl)
	if io := tbl.Catalog().Client().Counters().Sub(scanned); io.Gets > group.Scan.GetsAfter || group.Scan.GetsAfter >= group.Scan.GetsBefore {
		t.Errorf("a scan of %d GETs, of which %d were promised after %d", io.Gets, group.Scan.GetsAfter, group.Scan.GetsBefore)
	}
	if again, err := NewPlan(ctx, tbl, Policy{NoRebuild: true, PackAll: true}); err != nil || len(again.Groups) != 0 {
		t.Errorf("one object is packed again: %+v, %v", again, err)
	}
}

// TestPackOfFilters: the term filters of shards with indexes are copied too, and the plan counts their objects and bytes.
func TestPackOfFilters(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	indexed(t, tbl)
	for i := range 5 {
		if _, err := tbl.Ingest(ctx, rows(4000*i, 4000), catalog.IngestOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	tbl = g.load(nil)
	filters := int64(0)
	for _, e := range entriesOf(t, tbl) {
		if filters += e.FilterBytes; e.FilterObjects != 2 {
			t.Errorf("%d objects of filters, want 2", e.FilterObjects)
		}
	}
	policy := Policy{NoRebuild: true, PackAll: true}
	plan, err := NewPlan(ctx, tbl, policy)
	if err != nil || len(plan.Groups) != 1 || filters < 10<<10 || plan.Groups[0].BytesMoved != plan.Groups[0].Bytes+filters {
		t.Fatalf("%+v, %v, %d bytes of filters", plan, err, filters)
	}
	group := plan.Groups[0]
	const plainGets = 5 + 5 + 1 + readBacks + 10 // roots, objects of values, a part of the new object, the filters that the commit joins
	policy.MaxBytesPerRun = group.BytesMoved - 1
	if less, err := NewPlan(ctx, tbl, policy); err != nil || len(less.Groups) != 0 {
		t.Errorf("beyond max-bytes-per-run: %+v, %v", less, err)
	}
	policy.MaxBytesPerRun++
	done, err := Execute(ctx, tbl, &group, policy, Options{})
	if err != nil || done.BytesMoved <= group.Bytes || done.BytesMoved > group.BytesMoved {
		t.Fatalf("%+v, %v; planned were %d bytes", done, err, group.BytesMoved)
	}
	if n := group.Gets - plainGets; n != 10 {
		t.Errorf("%d GETs planned for the objects of filters, want 10", n)
	}
}

// On its own, what many concatenations left behind is packed, and then at rest.
func TestManyObjectsArePacked(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	if _, err := tbl.Ingest(ctx, rows(0, 70), catalog.IngestOptions{ShardRows: 1}); err != nil {
		t.Fatal(err)
	}
	before := contents(t, tbl)
	policy := Policy{NoRebuild: true, PackObjects: 60}
	for _, want := range []Mode{Concat, Pack, ""} {
		report, err := Compact(ctx, tbl, policy, Options{Check: true})
		if err != nil || len(report.Results) > 1 || (want == "") != (len(report.Results) == 0) || want != "" && report.Results[0].Mode != want {
			t.Fatalf("want %s: %+v, %v", want, report, err)
		}
	}
	tbl = g.load(nil)
	if got := contents(t, tbl); !slices.Equal(got, before) || entriesOf(t, tbl)[0].Objects != 2 {
		t.Errorf("%d rows became %d", len(before), len(got))
	}
	forbidden := policy
	forbidden.NoPack = true
	if err := forbidden.Validate(); err != nil {
		t.Fatal(err)
	}
}

// Shards with deleted records are packed among themselves, and the records stay deleted.
func TestPackDeleted(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 6)
	where, err := filter.Parse("id = 3 OR id = 14 OR id = 27")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tbl.Delete(ctx, where, catalog.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	before := contents(t, tbl)
	report, err := Compact(ctx, tbl, Policy{NoRebuild: true, PackAll: true}, Options{Check: true})
	if err != nil || report.ShardsAfter != 2 || len(report.Results) != 2 {
		t.Fatalf("%+v, %v", report, err)
	}
	sameContents(t, g.load(nil), before)
}

func TestPackKilledAtEveryStep(t *testing.T) {
	policy := Policy{NoRebuild: true, PackAll: true}
	kills, err := crashtest.Walk(func(_ int, killer *crashtest.Killer) error {
		g := newGround(t)
		fill(t, g.create(), 3)
		before := contents(t, g.load(nil))
		_, runErr := Compact(ctx, g.load(killer), policy, Options{JobID: "nightly"})
		tbl := g.load(nil)
		if got := contents(t, tbl); !slices.Equal(got, before) {
			return fmt.Errorf("%d rows became %d (run: %v)", len(before), len(got), runErr)
		}
		if _, err := Compact(ctx, tbl, policy, Options{}); err != nil {
			return fmt.Errorf("the next run: %w", err)
		}
		if got := contents(t, tbl); !slices.Equal(got, before) || tbl.Describe().Shards != 1 {
			return fmt.Errorf("the next run left %d rows in %d shards", len(got), tbl.Describe().Shards)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if kills < 10 {
		t.Errorf("only %d steps were killed", kills)
	}
}
