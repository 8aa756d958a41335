package catalog

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/fileio"
)

// canceling opens the catalog over a bucket that cancels contexts.
func (g *ground) canceling() (*Catalog, *blobfake.Canceling) {
	g.t.Helper()
	b := blobfake.NewCanceling(memblob.Open(g.bucket))
	return g.over(b, Options{}), b
}

// canceled is work that is canceled at each of its requests to the store.
type canceled struct {
	// make makes the table.
	make func(g *ground)
	work func(ctx context.Context, tbl *Table) error
	// cleans reports whether a request may begin after the cancellation: it deletes, closes or releases what the work began. If such a one is
	// canceled the work may have been done.
	cleans func(request string) bool
	// holds checks the table afterwards, as another process sees it.
	holds func(t *testing.T, tbl *Table)
	// requests is how many there are at least.
	requests int
}

// walk cancels the work at each of its requests, and at its writes also after they were made: the error is that of the context, no request begins
// afterwards that does not clean up, no goroutine is left, and the table is whole.
func (w *canceled) walk(t *testing.T) {
	t.Helper()
	var g *ground
	n, failed, wrote := 1, 0, true
	for lost := false; ; {
		if wrote {
			g = newGround(t)
			w.make(g)
		}
		var at string
		var err error
		at, wrote, err = w.once(t, g, n, lost)
		if t.Failed() {
			t.Fatalf("canceled at request %d (%s, done %v): %v", n, at, lost, err)
		}
		if at == "" {
			break
		}
		if err != nil {
			failed++
		}
		if lost = !lost && (strings.HasPrefix(at, "put ") || strings.HasPrefix(at, "delete ")); !lost {
			n++
		}
	}
	if n <= w.requests || failed < w.requests {
		t.Errorf("%d requests, %d runs failed", n-1, failed)
	}
}

// once cancels the work at its n-th request.
func (w *canceled) once(t *testing.T, g *ground, n int, lost bool) (at string, wrote bool, err error) {
	t.Helper()
	c, b := g.canceling()
	tbl := g.load(c)
	resting := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.CancelAt(n, lost, cancel)
	err = w.work(ctx, tbl)
	late, dead := b.Late()
	at = b.Canceled()
	for _, request := range late {
		if w.cleans == nil || !w.cleans(request) {
			t.Errorf("a request began after the cancellation: %s", request)
		}
	}
	if dead > listWorkers {
		t.Errorf("%d requests were tried after the cancellation", dead)
	}
	switch {
	case at == "" && err != nil:
		t.Errorf("not canceled: %v", err)
	case at != "" && !errors.Is(err, context.Canceled) && !(err == nil && w.cleans != nil && w.cleans(at)):
		t.Errorf("the error is %v", err)
	}
	blobfake.AwaitGoroutines(t, resting)
	if wrote = b.Writes() > 0; wrote || at == "" {
		w.holds(t, g.load(g.open(nil, nil)))
	}
	return at, wrote, err
}

// holdsRows checks that a table has the rows 0 to n-1 and that every snapshot verifies.
func holdsRows(t *testing.T, tbl *Table, n int) {
	t.Helper()
	if ids, _ := scanIDs(t, tbl, ScanOptions{}); !slices.Equal(slices.Sorted(slices.Values(ids)), between(0, n)) {
		t.Errorf("rows %v", ids)
	}
	if r, err := tbl.Verify(context.Background(), VerifyOptions{}); err != nil || !r.OK {
		t.Errorf("verified: %+v, %v", r, err)
	}
}

// grown makes a table of 40 rows in several snapshots and shards.
func grown(g *ground) *Table {
	tbl := g.create(g.open(nil, nil))
	for i := range 4 {
		ingest(g.t, tbl, IngestOptions{ShardRows: 5}, rows(10*i, 10))
	}
	return tbl
}

// TestCanceledVerification: a verification ends with the request in which its context ends, and takes no cancellation for damage.
func TestCanceledVerification(t *testing.T) {
	(&canceled{
		requests: 40,
		make:     func(g *ground) { addKeyIndex(g.t, grown(g), "keys:id") },
		work: func(ctx context.Context, tbl *Table) error {
			r, err := tbl.Verify(ctx, VerifyOptions{})
			if r != nil && (err != nil || !r.OK) {
				return fmt.Errorf("%+v, %w", r, err)
			}
			return err
		},
		holds: func(t *testing.T, tbl *Table) { holdsRows(t, tbl, 40) },
	}).walk(t)
}

// TestCanceledCollection: a collection whose context ends neither deletes nor marks anything more, and releases its lease: the next one need not wait.
func TestCanceledCollection(t *testing.T) {
	ctx := context.Background()
	(&canceled{
		requests: 30,
		make: func(g *ground) {
			tbl := g.create(g.open(nil, nil))
			ingest(t, tbl, IngestOptions{ShardRows: 10}, rows(0, 20))
			replace := func() {
				remove(t, tbl, "id < 10")
				ingest(t, tbl, IngestOptions{}, rows(0, 10))
				expireNow(t, tbl)
			}
			replace()
			if p, err := tbl.Collect(ctx, atOnceOptions); err != nil || len(p.Mark) == 0 {
				t.Fatal(p, err)
			}
			replace() // what the first run marked is due, and there is more to mark
		},
		work: func(ctx context.Context, tbl *Table) error {
			_, err := tbl.Collect(ctx, atOnceOptions)
			return err
		},
		cleans: func(request string) bool { return strings.Contains(request, "/_gc/lease-collect-") },
		holds: func(t *testing.T, tbl *Table) {
			if _, err := tbl.Collect(ctx, atOnceOptions); err != nil {
				t.Errorf("the next collection: %v", err)
			}
			holdsRows(t, tbl, 20)
		},
	}).walk(t)
}

// TestCanceledExpiry: an expiry whose context ends before its commit removes nothing.
func TestCanceledExpiry(t *testing.T) {
	(&canceled{
		requests: 2,
		make:     func(g *ground) { grown(g) },
		work: func(ctx context.Context, tbl *Table) error {
			p, err := tbl.PlanExpire(ExpireOptions{OlderThan: time.Now().Add(time.Hour)})
			if err != nil {
				return err
			}
			if err = p.Execute(ctx); err != nil && len(tbl.History()) != 4 {
				return fmt.Errorf("%d snapshots after: %v", len(tbl.History()), err)
			}
			return err
		},
		holds: func(t *testing.T, tbl *Table) {
			if n := len(tbl.History()); n != 1 && n != 4 {
				t.Errorf("%d snapshots", n)
			}
			holdsRows(t, tbl, 40)
		},
	}).walk(t)
}

// TestCanceledExport: an export whose context ends deletes its files, but for one whose write may be another's.
func TestCanceledExport(t *testing.T) {
	var failed error
	(&canceled{
		requests: 20,
		make:     func(g *ground) { grown(g) },
		work: func(ctx context.Context, tbl *Table) error {
			_, failed = tbl.Export(ctx, tbl.cat.vault+"/export", ExportOptions{ScanOptions: ScanOptions{Where: where(t, "id < 12")}, Format: fileio.NDJSON, PartitionBy: []string{"small"}})
			return failed
		},
		cleans: func(request string) bool {
			return strings.HasPrefix(request, "delete ") && strings.Contains(request, "/export/")
		},
		holds: func(t *testing.T, tbl *Table) {
			for info, err := range tbl.cat.client.List(context.Background(), tbl.cat.vault+"/export/") {
				if err != nil || failed != nil && !strings.Contains(failed.Error(), info.Key) {
					t.Errorf("%s is left by an export that failed: %v, %v", info.Key, failed, err)
				}
			}
			holdsRows(t, tbl, 40)
		},
	}).walk(t)
}

// TestCanceledRepair: a repair whose context ends takes no cancellation for a loss, and each shard is as it was or repaired.
func TestCanceledRepair(t *testing.T) {
	lossless := func(r *RepairResult) bool { return r == nil || r.RowsLost == 0 }
	(&canceled{
		requests: 40,
		make: func(g *ground) {
			tbl := g.create(g.open(nil, nil))
			ingest(g.t, tbl, IngestOptions{ShardRows: 10}, rows(0, 20))
			replaceEntry(g.t, tbl, func(e *manifest.Entry) { e.Records = 7 })
		},
		work: func(ctx context.Context, tbl *Table) error {
			r, err := tbl.Repair(ctx, RepairOptions{AcceptLoss: true})
			if !lossless(r) {
				return fmt.Errorf("rows were dropped: %+v, %v", r, err)
			}
			return err
		},
		cleans: func(request string) bool {
			return strings.HasPrefix(request, "delete ") && !strings.HasSuffix(request, ".json") || strings.Contains(request, "/_jobs/")
		},
		holds: func(t *testing.T, tbl *Table) {
			if r, err := tbl.Repair(context.Background(), RepairOptions{AcceptLoss: true}); err != nil || !lossless(r) {
				t.Errorf("%+v, %v", r, err)
			}
			if n := counted(t, tbl); n != 20 {
				t.Errorf("%d rows", n)
			}
			verifyAll(t, tbl)
		},
	}).walk(t)
}

// TestAnyFailedReadEndsARepair: what a store denies is neither a loss nor a reason to leave out what older snapshots still need.
func TestAnyFailedReadEndsARepair(t *testing.T) {
	ctx, g := context.Background(), newDamagedGround(t, "")
	g.metadataCache = 1
	tbl := g.create(g.open(g.bucket))
	ingest(t, tbl, IngestOptions{ShardRows: 10}, rows(0, 20))
	swap(t, tbl.cat.client, firstEntry(t, tbl).Path, nothing)
	if r, err := tbl.Repair(ctx, RepairOptions{AcceptLoss: true}); err != nil || len(r.Remains) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	for n := 1; ; n++ {
		tbl := g.load(g.open(g.bucket))
		g.bucket.Play(t, fmt.Sprintf("any %d: fail denied", n))
		r, err := tbl.Repair(ctx, RepairOptions{AcceptLoss: true, DryRun: true})
		requests := g.bucket.Requests("any")
		g.bucket.Play(t, "")
		if requests < n {
			if err != nil || len(r.Remains) != 1 || n < 15 {
				t.Errorf("%+v, %v, %d requests", r, err, n-1)
			}
			return
		}
		if !errors.Is(err, blobio.ErrDenied) {
			t.Errorf("request %d was denied: %+v, %v", n, r, err)
		}
	}
}
