package catalog

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/catalog/internal/lease"
	"github.com/shardcat/shardcat/internal/testkit/fakeclock"
)

// timeless is a store whose lists give the time at for every key that contains hide, if that is not empty.
type timeless struct {
	fakeclock.Bucket
	hide string
	at   time.Time
}

func (b *timeless) List(ctx context.Context, prefix string, o blobio.ListOptions) iter.Seq2[blobio.Info, error] {
	return func(yield func(blobio.Info, error) bool) {
		for info, err := range b.Bucket.List(ctx, prefix, o) {
			if err == nil && b.hide != "" && strings.Contains(info.Key, b.hide) {
				info.ModTime = b.at
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

// timelessCatalog opens a catalog on such a store.
func timelessCatalog(t *testing.T, g *timed) (*Catalog, *timeless) {
	t.Helper()
	b := &timeless{Bucket: fakeclock.Bucket{Bucket: memblob.Open(g.bucket), Clock: g.clock}}
	return g.over(b, Options{Now: g.clock.Now}), b
}

// TestLeaseOfUnknownAgeHolds: on a store that gives no times a lease lasts as long as its record and its renewals say, and ends then.
func TestLeaseOfUnknownAgeHolds(t *testing.T) {
	for which, at := range map[string]time.Time{"no time": {}, "1970": time.Unix(0, 0)} {
		t.Run(which, func(t *testing.T) {
			ctx := t.Context()
			g := newTimed(t)
			c, b := timelessCatalog(t, g)
			b.hide, b.at = "_gc/lease-", at
			tbl := g.create(c)
			held, err := tbl.leases().Take(ctx, lease.Compact)
			if err != nil {
				t.Fatal(err)
			}
			g.clock.Advance(lease.Compact.Time() - time.Second)
			if _, err := tbl.leases().Take(ctx, lease.Compact); !errors.Is(err, ErrConflict) {
				t.Errorf("while the lease is held: %v, want ErrConflict", err)
			}
			if err := held.Renew(ctx); err != nil {
				t.Fatal(err)
			}
			g.clock.Advance(lease.Compact.Time() - time.Second)
			if _, err := tbl.leases().Take(ctx, lease.Compact); !errors.Is(err, ErrConflict) {
				t.Errorf("while the renewed lease is held: %v, want ErrConflict", err)
			}
			g.clock.Advance(2 * time.Second)
			next, err := tbl.leases().Take(ctx, lease.Compact)
			if err != nil {
				t.Fatalf("after its end: %v", err)
			}
			next.Release(ctx)
			if _, err := tbl.leases().Take(ctx, lease.Compact); err != nil {
				t.Errorf("after its release: %v", err)
			}
		})
	}
}

// TestUnknownAgesAreYoung: a store that lists objects, marks, drops or jobs without a time, or with that of 1970, makes no collection delete or give
// up anything. With their times the same collections do.
func TestUnknownAgesAreYoung(t *testing.T) {
	ctx := context.Background()
	execute := CollectOptions{Execute: true}
	// Each prepares what a collection is due to end, and returns that collection, which reports how much it ended.
	cases := map[string]struct {
		hide    string
		prepare func(t *testing.T, g *timed, c *Catalog, tbl *Table) func() int
	}{
		"objects": {"/", func(t *testing.T, g *timed, c *Catalog, tbl *Table) func() int {
			remove(t, tbl, "id >= 10")
			g.clock.Advance(30 * day)
			expireAll(t, tbl, g.clock.Now())
			return func() int { return len(collect(t, tbl, execute).Mark) }
		}},
		"marks": {"_gc/marked-", func(t *testing.T, g *timed, c *Catalog, tbl *Table) func() int {
			remove(t, tbl, "id >= 10")
			g.clock.Advance(30 * day)
			expireAll(t, tbl, g.clock.Now())
			collect(t, tbl, execute)
			g.clock.Advance(3 * day)
			return func() int { return collect(t, tbl, execute).Deleted }
		}},
		"a dropped table": {"_dropped/", func(t *testing.T, g *timed, c *Catalog, tbl *Table) func() int {
			if err := c.Drop(ctx, tableName); err != nil {
				t.Fatal(err)
			}
			g.clock.Advance(30 * day)
			return func() int { return collectDropped(t, c, execute)[0].Deleted }
		}},
		"objects of a dropped table": {"amudai", func(t *testing.T, g *timed, c *Catalog, tbl *Table) func() int {
			if err := c.Drop(ctx, tableName); err != nil {
				t.Fatal(err)
			}
			g.clock.Advance(30 * day)
			return func() int {
				before := len(objectsOf(t, tbl))
				collectDropped(t, c, execute)
				return before - len(objectsOf(t, tbl))
			}
		}},
		"an open job": {"_jobs/", func(t *testing.T, g *timed, c *Catalog, tbl *Table) func() int {
			if _, _, err := tbl.BeginJob(ctx, "ingest", "", nil, tbl.Outputs); err != nil {
				t.Fatal(err)
			}
			g.clock.Advance(30 * day)
			return func() int { return len(collect(t, tbl, execute).ClosedJobs) }
		}},
		"an old job": {"_jobs/", func(t *testing.T, g *timed, c *Catalog, tbl *Table) func() int {
			ingest(t, tbl, IngestOptions{JobID: "named"}, rows(20, 1))
			g.clock.Advance(2 * defaultJobMemory)
			return func() int { return collect(t, tbl, execute).ForgottenJobs }
		}},
	}
	for name, s := range cases {
		for which, at := range map[string]time.Time{"no time": {}, "1970": time.Unix(0, 0)} {
			t.Run(name+", "+which, func(t *testing.T) {
				g := newTimed(t)
				c, b := timelessCatalog(t, g)
				b.at = at
				tbl := g.create(c)
				ingest(t, tbl, IngestOptions{}, rows(0, 10))
				ingest(t, tbl, IngestOptions{}, rows(10, 10))
				g.clock.Advance(time.Minute)
				run := s.prepare(t, g, c, tbl)
				before := objectsOf(t, tbl)
				b.hide = s.hide
				if n := run(); n != 0 {
					t.Errorf("%d ended that may be young", n)
				}
				if after := objectsOf(t, tbl); !slices.Equal(before, after) {
					t.Errorf("%v\nbecame\n%v", before, after)
				}
				b.hide = ""
				if n := run(); n == 0 {
					t.Error("nothing ended of known age: the test shows nothing")
				}
			})
		}
	}
}
