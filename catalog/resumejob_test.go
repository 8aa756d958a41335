package catalog

import (
	"context"
	"testing"

	"github.com/shardcat/shardcat/catalog/internal/jobrecord"
)

// TestDiscardOfWhatWasCommitted: a run whose process ended behind its commit is not discarded, even by who has loaded the table before.
func TestDiscardOfWhatWasCommitted(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	tbl := g.create(g.open(nil, nil))
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	old := g.load(g.open(nil, nil))
	j := rebuildAll(t, tbl)
	// Killed between the commit and the end of the record.
	if err := tbl.cat.records.Put(ctx, j.at(".json"), j.record); err != nil {
		t.Fatal(err)
	}
	if err := old.DiscardJob(ctx, j.Name()); err != nil {
		t.Error(err)
	}
	if n := counted(t, g.load(g.open(nil, nil))); n != 10 {
		t.Errorf("%d rows are left", n)
	}
}

// TestClosedByAnother: of several processes that find a run committed and open, all but one find it closed when they close it: that is not a failure.
func TestClosedByAnother(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	tbl := g.create(g.open(nil, nil))
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	j := rebuildAll(t, tbl)
	if err := j.end(ctx, jobrecord.Committed, tbl.Head()); err != nil {
		t.Error(err)
	}
}
