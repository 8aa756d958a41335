package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/gc"
)

// hidden are scripts that hide each request in turn, and each two that follow each other, until none of them reaches that far: "not found" for an
// object, and a list without its last key.
func hidden(requests func(script string) int) {
	for _, more := range []int{0, 1} {
		for n := 1; ; n++ {
			if requests(fmt.Sprintf("any %d-%d: hide", n, n+more)) < n {
				break
			}
		}
	}
}

// TestNoDropOfAnOldCatalog: an old copy of a catalog drops a table. The collection finds the later states in the table's folder, and deletes nothing, whichever
// of its requests is answered wrong.
func TestNoDropOfAnOldCatalog(t *testing.T) {
	ctx := context.Background()
	refused := 0
	hidden(func(script string) int {
		g := newTimed(t)
		c, bucket := g.faulty()
		tbl := g.create(c)
		old := tbl.MetadataLocation()
		for i := range 3 {
			ingest(t, tbl, IngestOptions{}, rows(10*i, 10))
		}
		last := tbl.MetadataLocation()
		if _, err := c.sql.Point(ctx, tableName.identifier(), last, old); err != nil {
			t.Fatal(err)
		}
		if err := c.Drop(ctx, tableName); err != nil {
			t.Fatal(err)
		}
		g.clock.Advance(30 * day)
		bucket.Play(t, script)
		_, err := c.CollectDropped(ctx, CollectOptions{Execute: true})
		requests := bucket.Requests("any")
		bucket.Play(t, "")
		if errors.Is(err, ErrUnsafe) {
			refused++
		}
		back, err := c.Recover(ctx, last, RecoverOptions{As: tableName})
		if err != nil {
			t.Fatalf("%s: %v", script, err)
		}
		if ids, _ := scanIDs(t, back, ScanOptions{Ordered: true}); !slices.Equal(ids, between(0, 30)) {
			t.Errorf("%s: rows %v", script, ids)
		}
		return requests
	})
	if refused < 5 {
		t.Errorf("refused %d times", refused)
	}
}

// TestRecordsOfHalfDeletedTablesStay: the records of a dropped table whose metadata file is the only one left stay until that file is gone.
func TestRecordsOfHalfDeletedTablesStay(t *testing.T) {
	ctx := context.Background()
	hidden(func(script string) int {
		g := newTimed(t)
		c, bucket := g.faulty()
		tbl := g.create(c)
		ingest(t, tbl, IngestOptions{}, rows(0, 10))
		if err := c.Drop(ctx, tableName); err != nil {
			t.Fatal(err)
		}
		g.clock.Advance(30 * day)
		bucket.Play(t, "delete~"+tbl.MetadataLocation()[len("mem://"+g.bucket+"/"):]+" *: fail denied")
		if _, err := c.CollectDropped(ctx, CollectOptions{Execute: true}); !errors.Is(err, blobio.ErrDenied) {
			t.Fatal(err)
		}
		g.clock.Advance(day)
		bucket.Play(t, script)
		_, err := c.CollectDropped(ctx, CollectOptions{Execute: true})
		requests := bucket.Requests("any")
		bucket.Play(t, "")
		g.clock.Advance(day)
		collectDropped(t, c, CollectOptions{Execute: true})
		if left := objectsBelow(t, c, tbl.metadataFolder()); len(left) != 0 {
			t.Errorf("%s (%v): left without a record: %v", script, err, left)
		}
		return requests
	})
}

// TestNothingOfADroppedTableStays: requests of a collection of a dropped table, each in turn and each two in a row, are answered "not found" although nothing is
// missing, and deletions among them not made. Runs after it delete all that is left.
func TestNothingOfADroppedTableStays(t *testing.T) {
	ctx := context.Background()
	hidden(func(script string) int {
		g := newTimed(t)
		c, bucket := g.faulty()
		tbl := g.create(c)
		ingest(t, tbl, IngestOptions{}, rows(0, 10))
		if err := c.Drop(ctx, tableName); err != nil {
			t.Fatal(err)
		}
		g.clock.Advance(30 * day)
		bucket.Play(t, script)
		_, err := c.CollectDropped(ctx, CollectOptions{Execute: true})
		requests := bucket.Requests("any")
		bucket.Play(t, "")
		for range 2 {
			g.clock.Advance(day)
			if _, err := c.CollectDropped(ctx, CollectOptions{Execute: true}); err != nil {
				t.Errorf("%s: the next run: %v", script, err)
			}
		}
		left := append(objectsBelow(t, c, tbl.metadataFolder()), objectsBelow(t, c, tbl.VaultFolder())...)
		if len(left) != 0 {
			t.Errorf("%s (%v): left: %v", script, err, left)
		}
		return requests
	})
}

// TestDroppedTablesBehindAListingOfBefore: a dropped table that was registered again is not deleted where the catalog's last listing lacks it, or the
// catalog reports it as missing for a moment.
func TestDroppedTablesBehindAListingOfBefore(t *testing.T) {
	ctx := context.Background()
	missingPause = 0
	defer func() { missingPause = time.Second }()
	for name, disturb := range map[string]func(c *Catalog, l *lookups){
		"an earlier listing": func(c *Catalog, _ *lookups) {
			c.known.loaded, c.known.at = make([]gc.Registered, smallCatalog+1), time.Now()
		},
		"missing for a moment": func(_ *Catalog, l *lookups) {
			times := 0
			l.load = func(table.Identifier) error {
				if times++; times <= 3 {
					return icecatalog.ErrNoSuchTable
				}
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGround(t)
			c, l, tbl := g.openLookups()
			ingest(t, tbl, IngestOptions{}, rows(0, 10))
			if err := c.Drop(ctx, tableName); err != nil {
				t.Fatal(err)
			}
			if _, err := c.registrar.RegisterTable(ctx, tableName.identifier(), tbl.MetadataLocation()); err != nil {
				t.Fatal(err)
			}
			c.sql = nil // as if the catalog had to load its tables
			c.opts.Now = func() time.Time { return time.Now().Add(30 * day) }
			disturb(c, l)
			out, err := c.CollectDropped(ctx, CollectOptions{Execute: true, MinAge: time.Nanosecond, UnsafeMinAge: true, DeleteDelay: -1})
			if !errors.Is(err, ErrUnsafe) || len(out) != 1 || out[0].Deleted != 0 {
				t.Errorf("%+v, %v", out, err)
			}
			if ids, _ := scanIDs(t, tbl, ScanOptions{Ordered: true}); !slices.Equal(ids, between(0, 10)) {
				t.Errorf("rows %v", ids)
			}
		})
	}
}

// TestDropRecordStaysWithTheDrop: a writer that loaded a table before it was dropped finds it gone, and leaves the record by which it comes back.
func TestDropRecordStaysWithTheDrop(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	g.create(g.open(nil, nil))
	before := g.load(g.open(nil, nil))
	c := g.open(nil, nil)
	ingest(t, g.load(c), IngestOptions{}, rows(0, 10))
	if err := c.Drop(ctx, tableName); err != nil {
		t.Fatal(err)
	}
	if _, err := before.Ingest(ctx, source(rows(10, 10)), IngestOptions{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("ingest into a dropped table: %v, want ErrNotFound", err)
	}
	back, err := c.Undrop(ctx, tableName)
	if err != nil {
		t.Fatal(err)
	}
	if ids, _ := scanIDs(t, back, ScanOptions{Ordered: true}); !slices.Equal(ids, between(0, 10)) {
		t.Errorf("rows %v", ids)
	}
}

// TestDropBesideALostTable: a table whose metadata file is lost keeps no other table from leaving the record of its drop.
func TestDropBesideALostTable(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl := g.create(c)
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	lost, err := c.Create(ctx, Name{"default", "lost"}, CreateOptions{Schema: people()})
	if err == nil {
		err = c.metadata.Delete(ctx, lost.MetadataLocation(), "")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Drop(ctx, tableName); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Undrop(ctx, tableName); err != nil {
		t.Error(err)
	}
}
