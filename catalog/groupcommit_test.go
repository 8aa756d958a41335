package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
	"github.com/shardcat/shardcat/manifest"
)

// groupGround is a catalog whose first commit waits until so many appends wait for it.
type groupGround struct {
	*ground
	c *Catalog
	// before, if not nil, is called once when they wait; commit, if not nil, stands in for the later commits, counted from 1.
	before func()
	commit func(n int, real func() error) error
	waits  int
	// held is closed when the first commit waits: all of it is written but the table's metadata.
	held chan struct{}
}

func newGroupGround(t *testing.T, waits int) *groupGround {
	t.Helper()
	g := &groupGround{ground: newGround(t), waits: waits}
	g.create(g.open(nil, nil))
	g.openOver(nil)
	return g
}

// openOver opens the catalog over a bucket in place of the ground's own, if it is not nil.
func (g *groupGround) openOver(bucket blobio.Bucket) {
	g.t.Helper()
	g.held = make(chan struct{})
	var mu sync.Mutex
	first, n := true, 0
	g.c = g.over(bucket, Options{wrap: func(ice icecatalog.Catalog) icecatalog.Catalog {
		return &commitFunc{ice, func(real func() error) error {
			mu.Lock()
			held := first
			first = false
			mu.Unlock()
			if held {
				close(g.held)
				g.await()
				if g.before != nil {
					g.before()
				}
				return real()
			}
			if n++; g.commit != nil {
				return g.commit(n, real)
			}
			return real()
		}}
	}})
}

func (g *groupGround) await() {
	for g.c.groups.queued() < g.waits {
		time.Sleep(time.Millisecond)
	}
}

// appended is an append and what came of it.
type appended struct {
	job  string
	text string
	ctx  context.Context
	out  *IngestResult
	err  error
}

// ingest appends, and may share its commit.
func (g *groupGround) ingest(tbl *Table, a *appended) {
	if a.ctx == nil {
		a.ctx = context.Background()
	}
	a.out, a.err = tbl.Ingest(a.ctx, source(a.text), IngestOptions{JobID: a.job, ShareCommit: true})
}

// do appends at the same time: the first one is being committed when the others come.
func (g *groupGround) do(appends ...*appended) {
	g.t.Helper()
	var group sync.WaitGroup
	for i, a := range appends {
		tbl := g.load(g.c)
		group.Go(func() { g.ingest(tbl, a) })
		for i == 0 && !g.committing() {
			time.Sleep(time.Millisecond)
		}
	}
	group.Wait()
}

func (g *groupGround) committing() bool {
	g.c.groups.mu.Lock()
	defer g.c.groups.mu.Unlock()
	return len(g.c.groups.waiting) > 0
}

// check compares the rows and the number of snapshots, and delivers the named jobs again: nothing is added.
func (g *groupGround) check(ids []int64, snapshots int, appends ...*appended) {
	g.t.Helper()
	c := g.open(nil, nil)
	for range 2 {
		tbl := g.load(c)
		got, _ := scanIDs(g.t, tbl, ScanOptions{})
		slices.Sort(got)
		if n := tbl.Describe().Snapshots; n != snapshots || !slices.Equal(got, ids) {
			g.t.Errorf("%d snapshots of rows %v, want %d of %v", n, got, snapshots, ids)
		}
		for _, a := range appends {
			if a.job != "" && a.err == nil {
				if again := ingest(g.t, tbl, IngestOptions{JobID: a.job}, a.text); !again.Before || again.SnapshotID != a.out.SnapshotID {
					g.t.Errorf("job %s delivered again: %+v, was %+v", a.job, again.CommitResult, a.out.CommitResult)
				}
			}
		}
	}
	open, err := g.load(c).Jobs(context.Background(), false)
	if err != nil || len(open) > 0 {
		g.t.Errorf("%d jobs are open, %v", len(open), err)
	}
	for i := 0; g.committing(); i++ { // the queue is left after the last append has its outcome
		if i == 10_000 {
			g.t.Fatal("a branch is still being committed to")
		}
		time.Sleep(time.Millisecond)
	}
}

// several are n appends of ten rows each, from id 0 on; every other one has a job id.
func several(n int) (appends []*appended) {
	for i := range n {
		a := &appended{text: rows(10*i, 10)}
		if i%2 == 1 {
			a.job = fmt.Sprintf("job-%d", i)
		}
		appends = append(appends, a)
	}
	return appends
}

// TestGroupCommit: appends that wait for the same commit share a snapshot, with the ids of all jobs, and each has its own outcome.
func TestGroupCommit(t *testing.T) {
	for name, foreign := range map[string]bool{"alone": false, "beside another writer": true} {
		t.Run(name, func(t *testing.T) {
			const n = 8
			g := newGroupGround(t, n-1)
			want, snapshots := between(0, 10*n), 2
			if foreign {
				want, snapshots = between(0, 10*n+5), 3
				other := g.load(g.open(nil, nil))
				g.commit = func(n int, real func() error) error {
					if n == 1 { // the group is staged on a head that moves
						ingest(t, other, IngestOptions{}, rows(80, 5))
					}
					return real()
				}
			}
			appends := several(n)
			g.do(appends...)
			for i, a := range appends {
				if a.err != nil || a.out.Before || a.out.Rows != 10 || len(a.out.Shards) != 1 || i > 0 && a.out.SnapshotID != appends[1].out.SnapshotID {
					t.Fatalf("append %d: %+v, %v", i, a.out, a.err)
				}
			}
			g.check(want, snapshots, appends...)
			history := g.load(g.c).History()
			if last := history[len(history)-1]; last.JobID == "" || len(last.MoreJobIDs) != n-2 {
				t.Errorf("the snapshot names the jobs %q and %q, want %d", last.JobID, last.MoreJobIDs, n-1)
			}
		})
	}
}

// TestGroupErrorsAreOnesOwn: what refuses one append of a group does not touch the others.
func TestGroupErrorsAreOnesOwn(t *testing.T) {
	gone, cancel := context.WithCancel(context.Background())
	for name, c := range map[string]struct {
		// last is the append beside three good ones; before happens while all four wait.
		last   *appended
		before func(g *groupGround)
		want   error
		// snapshots besides the first.
		snapshots int
	}{
		"a null in a column that was required meanwhile": {&appended{text: `[{"id":100,"ts":null,"small":null,"tags":null}]`},
			func(g *groupGround) {
				if err := g.load(g.open(nil, nil)).RequireColumn(context.Background(), "small"); err != nil {
					g.t.Error(err)
				}
			}, manifest.ErrSchema, 1},
		"a caller that went away": {&appended{text: rows(100, 1), ctx: gone},
			func(g *groupGround) {
				cancel()
				for g.c.groups.queued() > 3 {
					time.Sleep(time.Millisecond)
				}
			}, context.Canceled, 1},
		"the same job twice": {&appended{text: rows(10, 10), job: "job-1"}, nil, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGroupGround(t, 4)
			if c.before != nil {
				g.before = func() { c.before(g) }
			}
			appends := append(several(4), c.last)
			g.do(appends...)
			befores := 0
			for i, a := range appends[:4] {
				if a.err != nil {
					t.Fatalf("append %d: %v", i, a.err)
				}
				if a.out.Before {
					befores++
				}
			}
			if !errors.Is(c.last.err, c.want) {
				t.Fatalf("%v, want %v", c.last.err, c.want)
			}
			if c.want == nil && c.last.out.Before {
				befores++
			}
			if twice := c.want == nil; twice != (befores == 1) {
				t.Errorf("%d appends found their job committed", befores)
			}
			g.check(between(0, 40), 1+c.snapshots, appends...)
			objects := 2 * 4 // a root and a stripe of each; those of a failed append are deleted, those of a duplicate are left to collection
			if c.want == nil {
				objects += 2
			}
			if n := len(g.shards(g.c)); n != objects {
				t.Errorf("%d objects, want %d", n, objects)
			}
		})
	}
}

// TestGroupOutcomes: an unknown outcome of the shared snapshot is that of each append and keeps all objects, a lost answer is looked
// up, and where the snapshot is refused each append is committed alone.
func TestGroupOutcomes(t *testing.T) {
	for name, c := range map[string]struct {
		commit func(n int, real func() error) error
		// want is the error of each append but the first, nil for none; snapshots are those of all.
		want      error
		snapshots int
	}{
		"lost answer": {func(_ int, real func() error) error { return errors.Join(real(), errLost) }, nil, 2},
		"unknown":     {func(int, func() error) error { return errLost }, ErrUnknownOutcome, 1},
		"refused as a whole": {func(n int, real func() error) error {
			if n == 1 {
				return rest.ErrForbidden
			}
			return real()
		}, nil, 5},
		"refused": {func(int, func() error) error { return rest.ErrForbidden }, ErrRefused, 1},
		"a panic": {func(_ int, real func() error) error { real(); panic("told") }, ErrUnknownOutcome, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGroupGround(t, 4)
			g.commit = c.commit
			appends := several(5)
			for i, a := range appends {
				a.job = fmt.Sprint("job-", i)
			}
			g.do(appends...)
			for i, a := range appends {
				want := c.want
				if i == 0 {
					want = nil
				}
				if !errors.Is(a.err, want) || want == nil && a.err != nil || want != ErrUnknownOutcome && errors.Is(a.err, ErrUnknownOutcome) {
					t.Errorf("append %d: %v, want %v", i, a.err, want)
				}
			}
			objects := 2 * 5
			if c.want == ErrRefused {
				objects = 2
			}
			if n := len(g.shards(g.c)); n != objects {
				t.Errorf("%d objects, want %d", n, objects)
			}
			tbl := g.load(g.open(nil, nil))
			if n := tbl.Describe().Snapshots; n != c.snapshots {
				t.Errorf("%d snapshots, want %d", n, c.snapshots)
			}
			for _, a := range appends { // delivered again, each is in the table once
				ingest(t, tbl, IngestOptions{JobID: a.job}, a.text)
			}
			got, _ := scanIDs(t, tbl, ScanOptions{})
			if slices.Sort(got); !slices.Equal(got, between(0, 50)) {
				t.Errorf("rows %v", got)
			}
		})
	}
}

// TestGroupRootsAreWritten: appends whose roots the store refuses, while another commit is in progress, fail and join no group.
func TestGroupRootsAreWritten(t *testing.T) {
	g := newGroupGround(t, 1)
	bucket := blobfake.NewFaulty(t, memblob.Open(g.bucket), "")
	g.openOver(bucket)
	appends := several(4)
	first, last := appends[0], appends[3]
	var group sync.WaitGroup
	begin := func(a *appended) {
		tbl := g.load(g.c)
		group.Go(func() { g.ingest(tbl, a) })
	}
	begin(first)
	<-g.held
	bucket.Play(t, "put~.amudai.shard *: fail denied")
	for _, a := range appends[1:3] {
		if g.ingest(g.load(g.c), a); !errors.Is(a.err, blobio.ErrDenied) {
			t.Errorf("without its root: %v, want ErrDenied", a.err)
		}
	}
	bucket.Play(t, "")
	begin(last)
	group.Wait()
	if first.err != nil || last.err != nil {
		t.Fatal(first.err, last.err)
	}
	g.check(append(between(0, 10), between(30, 40)...), 2, first, last)
}

// TestGroupManifestsAreRefused: where the manifests of a group are refused, each append is committed alone.
func TestGroupManifestsAreRefused(t *testing.T) {
	g := newGroupGround(t, 4)
	bucket := blobfake.NewFaulty(t, memblob.Open(g.bucket), "")
	g.openOver(bucket)
	g.before = func() { bucket.Play(t, "put~.avro 1-3: fail denied") } // the file of the first commit comes before
	appends := several(5)
	g.do(appends...)
	for i, a := range appends {
		if a.err != nil {
			t.Errorf("append %d: %v", i, a.err)
		}
	}
	g.check(between(0, 50), 5, appends...)
}
