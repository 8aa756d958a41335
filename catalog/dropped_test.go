package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
	"github.com/shardcat/shardcat/internal/testkit/crashtest"
	"github.com/shardcat/shardcat/internal/testkit/fakeclock"
)

func collectDropped(t *testing.T, c *Catalog, o CollectOptions) []*CollectResult {
	t.Helper()
	out, err := c.CollectDropped(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// objectsBelow lists the objects whose names begin with a prefix.
func objectsBelow(t *testing.T, c *Catalog, prefix string) (out []string) {
	t.Helper()
	for info, err := range c.client.List(context.Background(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.TrimPrefix(info.URL, prefix))
	}
	return out
}

// TestDroppedTables: a dropped table comes back within the delay, and after it all its files are deleted, and no others.
func TestDroppedTables(t *testing.T) {
	ctx := context.Background()
	g := newTimed(t)
	c := g.catalog(nil)
	tbl := g.create(c)
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	other, err := c.Create(ctx, Name{"default", "other"}, CreateOptions{Schema: people()})
	if err != nil {
		t.Fatal(err)
	}
	ingest(t, other, IngestOptions{}, rows(10, 10))
	g.clock.Advance(30 * day)
	execute := CollectOptions{Execute: true}
	if err := c.Drop(ctx, tableName); err != nil {
		t.Fatal(err)
	}
	g.clock.Advance(day)
	if out := collectDropped(t, c, execute); len(out) != 1 || out[0].Deleted != 0 || len(out[0].Delete) != 0 || len(out[0].Kept) != 1 {
		t.Errorf("within the delay: %+v", out)
	}
	back, err := c.Undrop(ctx, tableName)
	if err != nil {
		t.Fatal(err)
	}
	if ids, _ := scanIDs(t, back, ScanOptions{Ordered: true}); !slices.Equal(ids, between(0, 10)) {
		t.Errorf("rows %v", ids)
	}
	if out := collectDropped(t, c, execute); len(out) != 0 {
		t.Errorf("a table that is back is collected: %+v", out)
	}
	if _, err := c.Undrop(ctx, tableName); !errors.Is(err, ErrNotFound) {
		t.Errorf("undrop of a living table: %v", err)
	}

	// Dropped again, and its name taken by another table.
	if err := c.Drop(ctx, tableName); err != nil {
		t.Fatal(err)
	}
	next := g.create(c)
	ingest(t, next, IngestOptions{}, rows(50, 5))
	g.clock.Advance(3 * day)
	if out := collectDropped(t, c, CollectOptions{}); len(out) != 1 || len(out[0].Delete) == 0 || out[0].Deleted != 0 || !out[0].DryRun {
		t.Errorf("dry run: %+v", out)
	}
	if _, err := c.Undrop(ctx, tableName); !errors.Is(err, ErrExists) {
		t.Errorf("undrop to a name that is taken: %v", err)
	}
	out := collectDropped(t, c, execute)
	if len(out) != 1 || out[0].Deleted == 0 || out[0].Deleted != len(out[0].Delete) {
		t.Fatalf("after the delay: %+v", out)
	}
	if left := objectsBelow(t, c, tbl.VaultFolder()); len(left) != 0 {
		t.Errorf("left in the vault: %v", left)
	}
	if left := objectsBelow(t, c, tbl.metadataFolder()); len(left) != 0 {
		t.Errorf("left of the metadata: %v", left)
	}
	if left := objectsBelow(t, c, c.droppedFolder()); len(left) != 0 {
		t.Errorf("left records: %v", left)
	}
	if out := collectDropped(t, c, execute); len(out) != 0 {
		t.Errorf("again: %+v", out)
	}
	for tbl, want := range map[*Table][]int64{other: between(10, 20), next: between(50, 55)} {
		if ids, _ := scanIDs(t, tbl, ScanOptions{Ordered: true}); !slices.Equal(ids, want) {
			t.Errorf("%s: rows %v", tbl.Name(), ids)
		}
	}
}

// TestDroppedTablesThatAreNeeded: a table that another engine registered again, or whose folder another table has adopted, keeps its
// files; so does one with an object of unknown kind, which alone stays.
func TestDroppedTablesThatAreNeeded(t *testing.T) {
	ctx := context.Background()
	g := newTimed(t)
	c := g.catalog(nil)
	tbl := g.create(c)
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	strange := tbl.VaultFolder() + "data/notes.txt"
	if err := c.client.Put(ctx, strange, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := c.Drop(ctx, tableName); err != nil {
		t.Fatal(err)
	}
	g.clock.Advance(30 * day)
	for _, as := range []Name{tableName, {"default", "again"}} {
		if _, err := c.registrar.RegisterTable(ctx, as.identifier(), tbl.MetadataLocation()); err != nil {
			t.Fatal(err)
		}
		if out, err := c.CollectDropped(ctx, CollectOptions{Execute: true}); !errors.Is(err, ErrUnsafe) || len(out) != 1 || out[0].Deleted != 0 {
			t.Errorf("registered as %s: %+v, %v", as, out, err)
		}
		if err := c.ice.DropTable(ctx, as.identifier()); err != nil {
			t.Fatal(err)
		}
	}
	out := collectDropped(t, c, CollectOptions{Execute: true})
	if len(out) != 1 || out[0].Deleted == 0 || !slices.Equal(out[0].Unknown, []string{strange}) {
		t.Errorf("%+v", out)
	}
	if _, err := c.Undrop(ctx, tableName); !errors.Is(err, ErrUnsafe) {
		t.Errorf("undrop of what is half deleted: %v", err)
	}
	if _, err := c.Recover(ctx, tbl.MetadataLocation(), RecoverOptions{As: tableName}); !errors.Is(err, ErrUnsafe) {
		t.Errorf("recovery of what is half deleted: %v", err)
	}
	if err := c.client.Delete(ctx, strange, ""); err != nil {
		t.Fatal(err)
	}
	collectDropped(t, c, CollectOptions{Execute: true})
	if left := objectsBelow(t, c, tbl.VaultFolder()); len(left) != 0 {
		t.Errorf("left in the vault: %v", left)
	}
}

// TestKilledDrops kills the collection of a dropped table at every step: the next run ends it, and nothing of it is left.
func TestKilledDrops(t *testing.T) {
	for n := 1; ; n++ {
		g := newTimed(t)
		c := g.catalog(nil)
		tbl := g.create(c)
		ingest(t, tbl, IngestOptions{}, rows(0, 10))
		if err := c.Drop(context.Background(), tableName); err != nil {
			t.Fatal(err)
		}
		g.clock.Advance(30 * day)
		_, err := g.catalog(crashtest.KillAt(n)).CollectDropped(context.Background(), CollectOptions{Execute: true})
		g.clock.Advance(day)
		back, backErr := c.Undrop(context.Background(), tableName)
		if backErr == nil {
			if ids, _ := scanIDs(t, back, ScanOptions{Ordered: true}); !slices.Equal(ids, between(0, 10)) {
				t.Fatalf("step %d: brought back with rows %v", n, ids)
			}
			continue
		}
		collectDropped(t, c, CollectOptions{Execute: true})
		if left := slices.Concat(objectsBelow(t, c, tbl.VaultFolder()), objectsBelow(t, c, tbl.metadataFolder()), objectsBelow(t, c, c.droppedFolder())); len(left) != 0 {
			t.Fatalf("step %d (%v): left %v", n, err, left)
		}
		if err == nil {
			if n < 5 {
				t.Errorf("%d steps", n)
			}
			return
		}
		if !errors.Is(err, crashtest.ErrKilled) {
			t.Fatalf("step %d: %v", n, err)
		}
	}
}

// TestForgetDroppedRefuses: where another object than records lies in the vault folder of a dropped table, all its records stay.
func TestForgetDroppedRefuses(t *testing.T) {
	ctx := context.Background()
	g := newTimed(t)
	c := g.catalog(nil)
	tbl := g.create(c)
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	if err := c.Drop(ctx, tableName); err != nil {
		t.Fatal(err)
	}
	dropped, err := c.Dropped(ctx)
	if err != nil || len(dropped) != 1 {
		t.Fatalf("%+v, %v", dropped, err)
	}
	all := func() []string {
		return slices.Concat(objectsBelow(t, c, tbl.VaultFolder()), objectsBelow(t, c, c.droppedFolder()))
	}
	before := all()
	if err := c.forgetDropped(ctx, &dropped[0], true); !errors.Is(err, ErrUnsafe) {
		t.Errorf("not refused: %v", err)
	}
	if after := all(); !slices.Equal(after, before) {
		t.Errorf("%v is left of %v", after, before)
	}
}

// TestDroppedTableBehindAStaleList: an object that a list leaves out is deleted with the others, or by the next run.
func TestDroppedTableBehindAStaleList(t *testing.T) {
	for n := 1; n <= 6; n++ {
		g := newTimed(t)
		c := g.catalog(nil)
		tbl := g.create(c)
		for i := range 3 {
			ingest(t, tbl, IngestOptions{}, rows(10*i, 10))
		}
		if err := c.Drop(t.Context(), tableName); err != nil {
			t.Fatal(err)
		}
		g.clock.Advance(30 * day)
		stale := blobfake.NewFaulty(t, &fakeclock.Bucket{Bucket: memblob.Open(g.bucket), Clock: g.clock}, fmt.Sprintf("list %d: hide", n))
		_, err := g.over(stale, Options{Now: g.clock.Now}).CollectDropped(t.Context(), CollectOptions{Execute: true})
		g.clock.Advance(day)
		collectDropped(t, c, CollectOptions{Execute: true})
		if left := slices.Concat(objectsBelow(t, c, tbl.VaultFolder()), objectsBelow(t, c, tbl.metadataFolder()), objectsBelow(t, c, c.droppedFolder())); len(left) != 0 {
			t.Errorf("list %d stale (%v): left %v", n, err, left)
		}
	}
}
