package catalog

import (
	"context"
	"errors"
	"testing"
	"time"

	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog/internal/lease"
	"github.com/shardcat/shardcat/internal/testkit/crashtest"
	"github.com/shardcat/shardcat/manifest"
)

// beginRebuild begins a job that rewrites all shards, up to its commit.
func beginRebuild(ctx context.Context, tbl *Table) (*Job, []*manifest.Entry, error) {
	var shards []*manifest.Entry
	var inputs []string
	for e, err := range tbl.Entries(ctx, At{}) {
		if err != nil {
			return nil, nil, err
		}
		shards, inputs = append(shards, e), append(inputs, e.Path)
	}
	j, _, err := tbl.BeginJob(ctx, JobCompact, "", inputs, tbl.Outputs)
	if err != nil {
		return nil, nil, err
	}
	written, err := j.Rewrite(ctx, shards, RewriteOptions{})
	if err != nil {
		j.Fail(ctx, nil)
		return nil, nil, err
	}
	return j, written.Entries, nil
}

// TestKilledWhileRenewing: a compactor dies at any step between taking its lease and releasing it, its renewals among them. Another process gets
// the lease after its time at the latest, and no row is lost.
func TestKilledWhileRenewing(t *testing.T) {
	ctx := context.Background()
	waited := 0
	kills, err := crashtest.Walk(func(_ int, killer *crashtest.Killer) error {
		g := newTimed(t)
		tbl := g.create(g.catalog(nil))
		ingest(t, tbl, IngestOptions{ShardRows: 5}, rows(0, 10))
		_ = func() error { // killed somewhere
			killed, err := g.catalog(killer).Load(ctx, tableName)
			if err != nil {
				return err
			}
			l, err := killed.leases().Take(ctx, lease.Compact)
			if err != nil {
				return err
			}
			g.clock.Advance(lease.Compact.Time() - time.Second)
			if err := l.Renew(ctx); err != nil {
				return err
			}
			j, entries, err := beginRebuild(ctx, killed)
			if err != nil {
				return err
			}
			g.clock.Advance(lease.Compact.Time() - time.Second)
			if err := l.Renew(ctx); err != nil {
				return err
			}
			if err := l.Check(ctx); err != nil {
				return err
			}
			if _, err := j.Replace(ctx, j.Inputs(), entries); err != nil {
				return err
			}
			l.Release(ctx)
			return nil
		}()
		other := g.load(g.catalog(nil))
		holder, err := other.CompactionHolder(ctx)
		if err != nil {
			return err
		}
		l, err := other.leases().Take(ctx, lease.Compact)
		if errors.Is(err, ErrConflict) != (holder != "") { // each sign of life was given within its time
			t.Errorf("held by %q: %v", holder, err)
		}
		if errors.Is(err, ErrConflict) {
			waited++
			g.clock.Advance(lease.Compact.Time())
			l, err = other.leases().Take(ctx, lease.Compact)
		}
		if err != nil {
			return err
		}
		rebuildAll(t, other)
		if err := l.Check(ctx); err != nil {
			return err
		}
		l.Release(ctx)
		verifyAll(t, other)
		if n := counted(t, other); n != 10 {
			t.Errorf("%d rows", n)
		}
		if left, err := other.CompactionHolder(ctx); err != nil || left != "" {
			t.Errorf("the released lease has the holder %q, %v", left, err)
		}
		return nil
	})
	if err != nil || kills < 8 || waited < 4 || waited == kills {
		t.Errorf("%d kills, %d waits for a lease: %v", kills, waited, err)
	}
}

// slowCommits is a catalog whose commits take as long as between does, after they were made.
type slowCommits struct {
	icecatalog.Catalog
	between func()
}

func (c *slowCommits) CommitTable(ctx context.Context, ident table.Identifier, reqs []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	meta, location, err := c.Catalog.CommitTable(ctx, ident, reqs, updates)
	if between := c.between; between != nil {
		c.between = nil
		between()
	}
	return meta, location, err
}

// TestCommitAnsweredAfterTheLease: the response to a compactor's commit comes when its lease has ended and another compactor has replaced what it
// committed. Its commit is a success, and its objects, which the other's snapshot does not name, are not deleted by it.
func TestCommitAnsweredAfterTheLease(t *testing.T) {
	ctx, g := context.Background(), newTimed(t)
	tbl := g.create(g.catalog(nil))
	ingest(t, tbl, IngestOptions{ShardRows: 5}, rows(0, 10))
	slow := g.catalog(nil)
	commits := &slowCommits{Catalog: slow.ice}
	slow.ice = commits
	mine := g.load(slow)
	l, err := mine.leases().Take(ctx, lease.Compact)
	if err != nil {
		t.Fatal(err)
	}
	j, entries, err := beginRebuild(ctx, mine)
	if err != nil {
		t.Fatal(err)
	}
	taken := false
	commits.between = func() {
		g.clock.Advance(lease.Compact.Time())
		other := g.load(g.catalog(nil))
		theirs, err := other.leases().Take(ctx, lease.Compact)
		if err != nil {
			t.Error(err)
			return
		}
		rebuildAll(t, other)
		theirs.Release(ctx)
		taken = true
	}
	done, err := j.Replace(ctx, j.Inputs(), entries)
	if err != nil || !taken {
		t.Fatalf("%+v, %v; taken over: %v", done, err, taken)
	}
	if err := l.Check(ctx); !errors.Is(err, ErrLeaseLost) {
		t.Errorf("the lease that was taken over: %v", err)
	}
	l.Release(ctx)
	last := g.load(g.catalog(nil))
	if last.ice.Metadata().SnapshotByID(done.SnapshotID) == nil || last.Head() == done.SnapshotID {
		t.Errorf("snapshot %d, the head is %d", done.SnapshotID, last.Head())
	}
	for _, at := range []At{{}, {SnapshotID: done.SnapshotID}} {
		if ids, _ := scanIDs(t, last, ScanOptions{At: at}); len(ids) != 10 {
			t.Errorf("%+v: rows %v", at, ids)
		}
	}
	verifyAll(t, last)
}

// TestCompactorAgainstExpiry: snapshots expire and collections run between any two steps of a compaction.
func TestCompactorAgainstExpiry(t *testing.T) {
	ctx := context.Background()
	for expired := range 3 {
		g := newTimed(t)
		tbl := g.create(g.catalog(nil))
		for i := range 4 {
			ingest(t, tbl, IngestOptions{}, rows(i*5, 5))
			g.clock.Advance(time.Minute)
		}
		expire := func(step int) {
			if step != expired {
				return
			}
			other := g.load(g.catalog(nil))
			g.clock.Advance(2 * day)
			expireAll(t, other, g.clock.Now())
			collect(t, other, CollectOptions{Execute: true, MaxDeleteRatio: 1})
			g.clock.Advance(3 * day)
			collect(t, other, CollectOptions{Execute: true, MaxDeleteRatio: 1})
		}
		mine := g.load(g.catalog(nil))
		expire(0)
		j, entries, err := beginRebuild(ctx, mine)
		if err != nil {
			t.Fatal(err)
		}
		expire(1)
		if _, err := j.Replace(ctx, j.Inputs(), entries); err != nil {
			t.Fatalf("expired before step %d: %v", expired, err)
		}
		expire(2)
		last := g.load(g.catalog(nil))
		verifyAll(t, last)
		if ids, _ := scanIDs(t, last, ScanOptions{}); len(ids) != 20 {
			t.Errorf("expired before step %d: rows %v", expired, ids)
		}
	}
}

// TestCommitsOutOfOrder: a job with an earlier id and older objects commits after a later one, and collections run in between. Ages decide
// nothing while the job is open; one that a collection has given up is refused, and no row is lost.
func TestCommitsOutOfOrder(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		age  time.Duration
		want error
	}{{0, nil}, {day, ErrConflict}} {
		g := newTimed(t)
		tbl := g.create(g.catalog(nil))
		ingest(t, tbl, IngestOptions{ShardRows: 5}, rows(0, 10))
		early := g.load(g.catalog(nil))
		j, entries, err := beginRebuild(ctx, early)
		if err != nil {
			t.Fatal(err)
		}
		g.clock.Advance(2 * day)
		ingest(t, g.load(g.catalog(nil)), IngestOptions{}, rows(10, 10))
		for range 2 {
			collect(t, g.load(g.catalog(nil)), CollectOptions{Execute: true, MinAge: c.age, MaxDeleteRatio: 1})
			g.clock.Advance(2 * day)
		}
		if _, err := j.Replace(ctx, j.Inputs(), entries); !errors.Is(err, c.want) {
			t.Errorf("commit after collections of min-age %s: %v, want %v", c.age, err, c.want)
		}
		last := g.load(g.catalog(nil))
		verifyAll(t, last)
		if ids, _ := scanIDs(t, last, ScanOptions{}); len(ids) != 20 {
			t.Errorf("min-age %s: rows %v", c.age, ids)
		}
	}
}

// TestRepairIsFinal: a repair whose commit is acknowledged succeeds, though the snapshots that still name what was lost can't be read afterwards.
func TestRepairIsFinal(t *testing.T) {
	ctx, g := context.Background(), newDamagedGround(t, "")
	tbl := g.create(g.open(g.bucket))
	ingest(t, tbl, IngestOptions{StripeRows: 4}, rows(0, 20))
	swap(t, tbl.cat.client, stripesOf(t, tbl, firstEntry(t, tbl).Path)[2], nothing)
	g.metadataCache = 1 // which holds no manifest
	c := g.open(g.bucket)
	c.ice = &slowCommits{Catalog: c.ice, between: func() { g.bucket.Play(t, "get~.avro *: fail denied") }}
	done, err := g.load(c).Repair(ctx, RepairOptions{AcceptLoss: true})
	if err != nil || !done.OK || done.RowsLost != 4 || len(done.Remains) != 0 {
		t.Errorf("%+v, %v", done, err)
	}
	g.bucket.Play(t, "")
	if n := counted(t, g.load(g.open(g.bucket))); n != 16 {
		t.Errorf("%d rows", n)
	}
}
