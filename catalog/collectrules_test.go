package catalog

import (
	"context"
	"slices"
	"testing"

	"github.com/shardcat/shardcat/shardfmt"
)

// TestCollectKeepsTermFilters: the joined term filters of a commit are named by entries only, by no root.
func TestCollectKeepsTermFilters(t *testing.T) {
	ctx := context.Background()
	g := newTimed(t)
	tbl := g.create(g.catalog(nil))
	ingest(t, tbl, IngestOptions{ShardRows: 40, Indexes: []shardfmt.IndexSpec{{Kind: shardfmt.HashIndex, Columns: []string{"id"}}}}, rows(0, 200))
	var objects []string
	for e, err := range tbl.Entries(ctx, At{}) {
		if err != nil {
			t.Fatal(err)
		}
		byRoot, _, err := tbl.reach(ctx, tbl.cat.client, e.Path, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range e.TermRuns() {
			at := tbl.VaultFolder() + f.Object
			if !slices.Contains(byRoot, at) {
				objects = append(objects, at)
			}
		}
	}
	if len(objects) == 0 {
		t.Fatal("every filter is named by its root: the test proves nothing")
	}
	for range 3 {
		g.clock.Advance(30 * day)
		collect(t, tbl, CollectOptions{Execute: true})
	}
	for _, at := range objects {
		if _, err := tbl.cat.client.Stat(ctx, at); err != nil {
			t.Error(err)
		}
	}
}

// TestChangedSinceMarked: an object that was replaced after it was marked is old enough again later, and is marked again, not
// deleted by the mark of the one before it.
func TestChangedSinceMarked(t *testing.T) {
	ctx := context.Background()
	for name, content := range map[string]string{"other size": "longer", "same size": "y"} {
		t.Run(name, func(t *testing.T) {
			g := newTimed(t)
			tbl := g.create(g.catalog(nil))
			ingest(t, tbl, IngestOptions{}, rows(0, 5))
			at := tbl.VaultFolder() + "data/left/s-0.amudai.stripe"
			if err := tbl.cat.client.Put(ctx, at, []byte("x")); err != nil {
				t.Fatal(err)
			}
			g.clock.Advance(8 * day)
			if c := collect(t, tbl, CollectOptions{Execute: true}); len(c.Mark) != 1 || c.Mark[0].URL != at {
				t.Fatalf("%+v", c)
			}
			if err := tbl.cat.client.Delete(ctx, at, ""); err != nil {
				t.Fatal(err)
			}
			if err := tbl.cat.client.Put(ctx, at, []byte(content)); err != nil {
				t.Fatal(err)
			}
			g.clock.Advance(8 * day)
			if c := collect(t, tbl, CollectOptions{Execute: true}); c.Deleted != 0 || len(c.Delete) != 0 || len(c.Mark) != 1 {
				t.Errorf("%+v", c)
			}
			if _, err := tbl.cat.client.Stat(ctx, at); err != nil {
				t.Error(err)
			}
			g.clock.Advance(3 * day)
			if c := collect(t, tbl, CollectOptions{Execute: true}); c.Deleted != 1 {
				t.Errorf("after its own delay: %+v", c)
			}
		})
	}
}
