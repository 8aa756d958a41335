package catalog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog/internal/backoff"
	"github.com/shardcat/shardcat/catalog/internal/commitqueue"
	"github.com/shardcat/shardcat/manifest"
)

// TestNoAppendStarves: six writers and two compactors, each with a catalog of its own as in a process of its own. No
// append may end in a conflict, and none may need many tries.
func TestNoAppendStarves(t *testing.T) {
	g := newGround(t)
	crowd(t, g, mostTries, func() *Catalog {
		// One database and one warehouse on the disk, as processes share them.
		c, err := Open(context.Background(), Options{URI: "sqlite:" + filepath.Join(g.dir, "catalog.db"),
			Warehouse: filepath.Join(g.dir, "warehouse")})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	})
}

// TestObjectsNoAppendStarves is the same where the queue is objects: who begins does not look at it, so that each commit brings one writer more that may
// come first.
func TestObjectsNoAppendStarves(t *testing.T) {
	g := newGround(t)
	crowd(t, g, 3*mostTries, func() *Catalog {
		c, err := Open(context.Background(), Options{URI: "sqlite:" + filepath.Join(g.dir, "catalog.db"),
			Warehouse: filepath.Join(g.dir, "warehouse")})
		if err != nil {
			t.Fatal(err)
		}
		c.queue = commitqueue.NewObjects(c.client, c.vaultFolder)
		t.Cleanup(func() { c.Close() })
		return c
	})
}

// TestPostgresNoAppendStarves is the same over a database server.
func TestPostgresNoAppendStarves(t *testing.T) {
	uri := os.Getenv("SHARDCAT_POSTGRES")
	if uri == "" {
		t.Skip("SHARDCAT_POSTGRES names no database: the commit queue is not tried on PostgreSQL")
	}
	g := newGround(t)
	open := func() *Catalog {
		c, err := Open(context.Background(), Options{URI: uri, Warehouse: filepath.Join(g.dir, "warehouse")})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	drop := func() {
		if err := open().Drop(context.Background(), tableName); err != nil && !errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
	}
	drop()
	crowd(t, g, mostTries, open)
	drop()
}

const (
	crowdWriters    = 6
	crowdCompactors = 2
	// mostTries of an append: one without a number, one for each of the others that had begun before it took its number,
	// and the one that nobody is left to beat.
	mostTries = 1 + (crowdWriters + crowdCompactors - 1) + 1
)

// crowd lets writers and compactors loose on one table: 1,000 ingestions with SHARDCAT_FULL, else a few.
func crowd(t *testing.T, g *ground, bound int, open func() *Catalog) {
	each := 6
	if os.Getenv("SHARDCAT_FULL") != "" {
		each = (1000 + crowdWriters - 1) / crowdWriters
	}
	g.create(open())
	var mu sync.Mutex
	tries := make([]int, 0, crowdWriters*each)
	var failed, merged atomic.Int64
	var writers, compactors sync.WaitGroup
	for w := range crowdWriters {
		tbl := g.load(open())
		writers.Go(func() {
			for i := range each {
				in, err := tbl.Ingest(context.Background(), source(rows(w*1_000_000+10*i, 10)), IngestOptions{})
				if err != nil {
					failed.Add(1)
					t.Errorf("writer %d, append %d: %v", w, i, err)
					continue
				}
				mu.Lock()
				tries = append(tries, in.Attempts)
				mu.Unlock()
			}
		})
	}
	done := make(chan struct{})
	for range crowdCompactors {
		tbl := g.load(open())
		compactors.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				switch merge, err := mergeSome(tbl); {
				case err != nil && !errors.Is(err, ErrConflict): // the other compactor took the shards
					t.Error(err)
				case merge != nil:
					merged.Add(1)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	compactors.Wait()
	if len(tries) == 0 {
		t.Fatal("no append was committed")
	}
	slices.Sort(tries)
	t.Logf("%d of %d appends failed; tries: median %d, 99 %% %d, most %d; %d compactions", failed.Load(), crowdWriters*each,
		tries[len(tries)/2], tries[len(tries)*99/100], tries[len(tries)-1], merged.Load())
	if most := tries[len(tries)-1]; most > bound {
		t.Errorf("an append was tried %d times, %d at most were expected", most, bound)
	}
	if records := g.load(open()).Describe().Records; records != int64(10*crowdWriters*each) {
		t.Errorf("%d rows, want %d", records, 10*crowdWriters*each)
	}
}

// mergeSome replaces two live shards by an entry of both; what it states about its shard does not matter here. It is nil where there are no two.
func mergeSome(t *Table) (*CommitResult, error) {
	ctx := context.Background()
	if err := t.Refresh(ctx); err != nil {
		return nil, err
	}
	var inputs []*manifest.Entry
	for e, err := range t.Entries(ctx, At{}) {
		if err != nil {
			return nil, err
		}
		if inputs = append(inputs, e); len(inputs) == 2 {
			break
		}
	}
	if len(inputs) < 2 {
		return nil, backoff.Wait(ctx, time.Millisecond)
	}
	paths := []string{inputs[0].Path, inputs[1].Path}
	j, _, err := t.BeginJob(ctx, JobCompact, "", paths, anything(t))
	if err != nil {
		return nil, err
	}
	merged := fake(t, 0)
	merged.Path = fmt.Sprintf("%s%s.amudai.shard", t.VaultFolder(), j.Attempt())
	merged.Records = inputs[0].Records + inputs[1].Records
	return j.Replace(ctx, paths, []*manifest.Entry{merged})
}

// TestWhoWaitsGoesFirst: as long as an append waits, neither a compaction nor a later append sends anything.
func TestWhoWaitsGoesFirst(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	tbl := g.create(g.open(nil, nil))
	for i := range 2 {
		if _, err := appendFake(tbl, "", i); err != nil {
			t.Fatal(err)
		}
	}
	waiting := tbl.queued(false)
	if err := waiting.Await(ctx, 2); err != nil { // rejected once, so that it has a number
		t.Fatal(err)
	}
	other := g.load(g.open(nil, nil))
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	inputs := []string{fake(tbl, 0).Path, fake(tbl, 1).Path}
	j, _, err := other.BeginJob(ctx, JobCompact, "", inputs, anything(other))
	if err != nil {
		t.Fatal(err)
	}
	merged := fake(tbl, 2)
	merged.Records = 200
	if _, err := j.Replace(short, inputs, []*manifest.Entry{merged}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a compaction before an append: %v", err)
	}
	if j, _, err = other.BeginJob(ctx, JobAppend, "", nil, anything(other)); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(short, []*manifest.Entry{fake(tbl, 3)}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an append before one that waited: %v", err)
	}
	waiting.Leave(ctx)
	if _, err := replaceFake(other, "", 0, 1, 2); err != nil {
		t.Errorf("nobody waits any more: %v", err)
	}
}

// TestQueueOfOtherTables: numbers of one table hold up no other, and a table without a queue is written to all the same.
func TestQueueOfOtherTables(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	tbl := g.create(g.open(nil, nil))
	other, err := tbl.cat.Create(ctx, Name{"default", "other"}, CreateOptions{Schema: people()})
	if err != nil {
		t.Fatal(err)
	}
	waiting := tbl.queued(false)
	if err := waiting.Await(ctx, 2); err != nil { // rejected once, so that it has a number
		t.Fatal(err)
	}
	if _, err := appendFake(other, "", 1); err != nil {
		t.Error(err)
	}
	waiting.Leave(ctx)
	tbl.cat.queue = nil
	if done, err := appendFake(tbl, "", 1); err != nil || done.Attempts != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	if tbl.Describe().Shards != 1 || tbl.ice.CurrentSnapshot().Summary.Operation != table.OpAppend {
		t.Errorf("%+v", tbl.Describe())
	}
}

// TestCompactionAmongConstantWriters: four writers commit one append after the other. A compaction lets them go first for two seconds in all and
// three rejections; then it has a number, and only those can beat it that had begun before it took that.
func TestCompactionAmongConstantWriters(t *testing.T) {
	const busy, merges = 4, 2
	const most = 3 + busy + 1
	g, ctx := newGround(t), t.Context()
	open := func() *Catalog {
		c, err := Open(ctx, Options{URI: "sqlite:" + filepath.Join(g.dir, "catalog.db"), Warehouse: filepath.Join(g.dir, "warehouse")})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	g.create(open())
	var writers sync.WaitGroup
	var appends atomic.Int64
	done := make(chan struct{})
	for w := range busy {
		tbl := g.load(open())
		writers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				if _, err := appendFake(tbl, "", w*1_000_000+i); err != nil {
					t.Error(err)
					return
				}
				appends.Add(1)
			}
		})
	}
	tbl := g.load(open())
	for done := 0; done < merges; {
		before, began := appends.Load(), time.Now()
		result, err := mergeSome(tbl)
		if err != nil {
			t.Error(err)
			break
		}
		if result == nil {
			continue // there are no two shards yet
		}
		done++
		t.Logf("merge %d: %d tries, %v, %d appends meanwhile", done, result.Attempts, time.Since(began).Round(time.Millisecond), appends.Load()-before)
		if result.Attempts > most {
			t.Errorf("a merge was tried %d times, %d at most were expected", result.Attempts, most)
		}
	}
	close(done)
	writers.Wait()
}
