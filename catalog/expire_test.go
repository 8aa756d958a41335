package catalog

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	icecatalog "github.com/apache/iceberg-go/catalog"

	"github.com/apache/iceberg-go/table"
)

// TestExpire: snapshots go, shards and rows stay, tags keep what they name.
func TestExpire(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl := g.create(c)
	for i := range 5 {
		time.Sleep(2 * time.Millisecond) // snapshots are distinguished by milliseconds
		ingest(t, tbl, IngestOptions{}, rows(10*i, 10))
	}
	h := tbl.History()
	_, _, err := c.ice.CommitTable(ctx, tableName.identifier(), nil,
		[]table.Update{table.NewSetSnapshotRefUpdate("keep", h[0].ID, table.TagRef, 0, 0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	if err := tbl.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	plan, err := tbl.PlanExpire(ExpireOptions{OlderThan: h[3].Time})
	if err != nil || !slices.Equal(plan.Snapshots, []int64{h[1].ID, h[2].ID}) || plan.Retained != 3 {
		t.Fatalf("%+v, %v", plan, err)
	}
	stale := g.load(g.open(nil, nil))
	stalePlan, err := stale.PlanExpire(ExpireOptions{OlderThan: h[3].Time})
	if err != nil {
		t.Fatal(err)
	}
	deletes := c.Client().Counters().Deletes + c.MetadataCounters().Deletes
	if err := plan.Execute(ctx); err != nil {
		t.Fatal(err)
	}
	if n := c.Client().Counters().Deletes + c.MetadataCounters().Deletes - deletes; n != 0 {
		t.Errorf("expiry deleted %d objects", n)
	}
	if ids, _ := scanIDs(t, tbl, ScanOptions{Ordered: true}); !slices.Equal(ids, between(0, 50)) {
		t.Errorf("rows %v", ids)
	}
	if ids, _ := scanIDs(t, tbl, ScanOptions{At: At{Ref: "keep"}}); len(ids) != 10 {
		t.Errorf("%d rows at the tag", len(ids))
	}
	if _, err := tbl.snapshot(At{SnapshotID: h[1].ID}); !errors.Is(err, ErrNotFound) {
		t.Errorf("an expired snapshot: %v", err)
	}
	ingest(t, g.load(g.open(nil, nil)), IngestOptions{}, rows(50, 10))
	if err := stalePlan.Execute(ctx); err != nil {
		t.Errorf("what another run has expired: %v", err)
	}
	if plan, err := tbl.PlanExpire(ExpireOptions{RetainLast: 2, OlderThan: time.Now().Add(time.Hour)}); err != nil || len(plan.Snapshots) != 0 {
		t.Errorf("the last two: %+v, %v", plan, err)
	}
	late, err := tbl.PlanExpire(ExpireOptions{OlderThan: time.Now().Add(time.Hour)})
	if err != nil || len(late.Snapshots) != 1 {
		t.Fatalf("%+v, %v", late, err)
	}
	// The head has moved since the plan was made: the expiry is tried again on the new one.
	if err := late.Execute(ctx); err != nil || tbl.Head() != g.load(g.open(nil, nil)).Head() {
		t.Errorf("the head had moved: %v", err)
	}
	if ids, _ := scanIDs(t, tbl, ScanOptions{Ordered: true}); !slices.Equal(ids, between(0, 60)) {
		t.Errorf("rows %v", ids)
	}
	// What a ref needs since the plan was made stays.
	ingest(t, tbl, IngestOptions{}, rows(60, 10))
	tagged := tbl.Head()
	ingest(t, tbl, IngestOptions{}, rows(70, 10))
	plan, err = tbl.PlanExpire(ExpireOptions{OlderThan: time.Now().Add(time.Hour)})
	if err != nil || !slices.Contains(plan.Snapshots, tagged) {
		t.Fatalf("%+v, %v", plan, err)
	}
	// The tag is made at the very moment of the commit.
	n := 0
	racing := g.load(g.open(nil, func(ice icecatalog.Catalog) icecatalog.Catalog {
		return &commitFunc{ice, func(real func() error) error {
			if n++; n == 1 {
				if _, err := g.load(g.open(nil, nil)).CreateTag(ctx, "needed", tagged); err != nil {
					t.Error(err)
				}
			}
			return real()
		}}
	}))
	if plan, err = racing.PlanExpire(ExpireOptions{OlderThan: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if err := plan.Execute(ctx); err != nil {
		t.Error(err)
	}
	if ids, _ := scanIDs(t, g.load(g.open(nil, nil)), ScanOptions{At: At{Ref: "needed"}}); len(ids) != 70 {
		t.Errorf("%d rows at the new tag", len(ids))
	}
}

// TestExpiryReadsMetadataOnce: an expiry by a new process reads the metadata file once and writes the next one once, and reads it again only if
// the table has moved since the plan.
func TestExpiryReadsMetadataOnce(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	for i := range 3 {
		ingest(t, tbl, IngestOptions{}, rows(10*i, 10))
	}
	for _, moved := range []bool{false, true} {
		time.Sleep(2 * time.Millisecond) // the last change is not ahead of the clock
		c := g.open(nil, nil)
		before := c.MetadataCounters()
		tbl := g.load(c)
		plan, err := tbl.PlanExpire(ExpireOptions{OlderThan: time.Now().Add(time.Hour)})
		if err != nil || len(plan.Snapshots) == 0 {
			t.Fatalf("%+v, %v", plan, err)
		}
		reads := int64(1)
		if moved {
			reads = 2
			if _, err := g.load(g.open(nil, nil)).CreateTag(ctx, "kept", plan.Snapshots[0]); err != nil {
				t.Fatal(err)
			}
		}
		if err := plan.Execute(ctx); err != nil {
			t.Fatal(err)
		}
		done := c.MetadataCounters().Sub(before)
		if done.Gets-done.Puts != reads || done.Puts != 1 { // what is written is read back
			t.Errorf("moved %v: %+v, want %d reads of metadata and 1 write, read back", moved, done, reads)
		}
		if _, err := tbl.snapshot(At{Ref: "kept"}); moved && err != nil {
			t.Errorf("the snapshot of the new tag: %v", err)
		}
		ingest(t, tbl, IngestOptions{}, rows(100, 10))
		ingest(t, tbl, IngestOptions{}, rows(110, 10))
	}
}
