package soak

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
)

// watch compares a table's number of shards with its bound, all the time, and takes down how long nobody compacts it.
func (s *soak) watch(ctx context.Context, name catalog.Name) {
	t, done := s.open(name, 0)
	defer done()
	for t != nil && ctx.Err() == nil {
		if err := t.Refresh(context.Background()); err != nil {
			s.t.Errorf("%s: refresh: %v", name, err)
			return
		}
		shards := t.Describe().Shards
		bound := s.tables[name].bound()
		if shards > bound {
			bound += s.held(t)
		}
		if shards > bound {
			s.t.Errorf("%s: %d shards, where its policy and what was added leave %d", name, shards, bound)
		}
		s.mostSeen.Store(max(s.mostSeen.Load(), shards))
		s.longestIdle.Store(max(s.longestIdle.Load(), int64(s.tables[name].idle())))
		pause(ctx, time.Second)
	}
}

// held counts the shards that are in quarantine, because a fault hit their group: they wait for it to end.
func (s *soak) held(t *catalog.Table) (shards int64) {
	held, err := compaction.LoadQuarantine(context.Background(), t, nil)
	if err != nil {
		s.t.Errorf("%s: %v", t.Name(), err)
		return 0
	}
	for _, g := range held.Groups() {
		shards += int64(len(g.Inputs))
	}
	s.mostHeld.Store(max(s.mostHeld.Load(), shards))
	return shards
}

// Ages for collections while everybody is at work. Nobody is stopped for longer than two seconds, and no change takes a minute; the tool's
// own default is days.
const (
	sweepEvery = 20 * time.Second
	sweepAge   = 2 * time.Minute
	sweepDelay = 30 * time.Second
)

// sweep collects from time to time.
func (s *soak) sweep(ctx context.Context, name catalog.Name) {
	doomed := orphans{}
	for pause(ctx, sweepEvery); ctx.Err() == nil; pause(ctx, sweepEvery) {
		t, done := s.open(name, 0)
		if t == nil {
			return
		}
		began := time.Now()
		c, err := t.Collect(context.Background(), catalog.CollectOptions{Execute: true, MinAge: sweepAge, UnsafeMinAge: true, DeleteDelay: sweepDelay, MaxDeleteRatio: 1})
		if err != nil && !errors.Is(err, catalog.ErrConflict) {
			s.t.Errorf("%s: collect: %v", name, err)
		} else if err == nil {
			s.deleted.Add(int64(c.Deleted))
			s.sweeps.Add(1)
			for _, url := range doomed.after(c, began) {
				s.t.Errorf("%s: %s was marked longer than %s ago and is still there", name, url, sweepDelay)
			}
		}
		done()
	}
}

// orphans are the objects that were found unreached after their time, and when.
type orphans map[string]time.Time

// after books a collection. It gives what should have been deleted by now: marked longer before the collection began than the delay, and
// not deleted by it.
func (o orphans) after(c *catalog.CollectResult, began time.Time) (late []string) {
	for _, g := range c.Delete {
		delete(o, g.URL)
	}
	const clocks = time.Second // the store's clock and ours
	for url, marked := range o {
		if began.Sub(marked) > sweepDelay+clocks {
			late = append(late, url)
			delete(o, url)
		}
	}
	for _, g := range c.Mark {
		o[g.URL] = time.Now()
	}
	return late
}

// settle compares a table with the ledger once all is quiet.
func (s *soak) settle(name catalog.Name) (objects int) {
	t, done := s.open(name, 2*time.Hour) // leases of the dead are over, also of those whose clock was ahead
	defer done()
	if t == nil {
		return 0
	}
	s.compact(t)
	want := slices.Sorted(maps.Keys(s.tables[name].rows))
	if got := s.ids(name, ""); !slices.Equal(got, want) {
		s.t.Errorf("%s: %d rows, %d by the ledger", name, len(got), len(want))
	}
	objects = s.nothingUnreached(name)
	if got := s.ids(name, ""); !slices.Equal(got, want) {
		s.t.Errorf("%s: collection took rows: %d of %d are left", name, len(got), len(want))
	}
	report, err := t.Verify(context.Background(), catalog.VerifyOptions{})
	if err != nil || !report.OK {
		s.t.Errorf("%s: damaged: %v %+v", name, err, report)
	}
	return objects
}

// compact takes the lease, which nobody holds any more, and does the rest to do.
func (s *soak) compact(t *catalog.Table) {
	lease, err := t.LeaseForCompaction(context.Background())
	if err != nil {
		s.t.Errorf("%s: a lease is stuck: %v", t.Name(), err)
		return
	}
	defer lease.Release(context.Background())
	if _, err := compaction.Compact(context.Background(), t, compaction.Policy{}, compaction.Options{Fence: lease.Check}); err != nil {
		s.t.Errorf("%s: %v", t.Name(), err)
	}
	if n := t.Describe().Shards; n > mostShards {
		s.t.Errorf("%s: %d shards, the policy's bound is %d", t.Name(), n, mostShards)
	}
}

// nothingUnreached collects without delays, for nobody is at work any more: the rest is what the table reaches.
func (s *soak) nothingUnreached(name catalog.Name) (objects int) {
	at := catalog.CollectOptions{Execute: true, MinAge: 1, UnsafeMinAge: true, DeleteDelay: -1, MaxDeleteRatio: 1}
	t, done := s.open(name, 2*time.Hour)
	defer done()
	if t == nil {
		return 0
	}
	for range 3 { // marks, deletes, and deletes the marks
		if _, err := t.Collect(context.Background(), at); err != nil {
			s.t.Errorf("%s: collect: %v", name, err)
			return 0
		}
	}
	at.Execute = false
	left, err := t.Collect(context.Background(), at)
	if err != nil {
		s.t.Errorf("%s: collect: %v", name, err)
		return 0
	}
	if left.Live != left.Objects {
		s.t.Errorf("%s: %d objects, and only %d of them are reached: %v", name, left.Objects, left.Live, left.Mark)
	}
	return left.Objects
}

// files counts those of all tables, the records of jobs, leases and groups in quarantine aside. odd are those whose names say nothing.
func (s *soak) files() (n int, odd []string) {
	err := filepath.WalkDir(filepath.Join(s.dir, "warehouse"), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "_jobs" || d.Name() == "_gc" || d.Name() == "_compaction" || d.Name() == "_line"):
			return fs.SkipDir
		case !d.IsDir() && d.Name() != "_owner.json":
			if n++; !strings.Contains(path, ".amudai.") && !strings.Contains(path, "/metadata/") {
				odd = append(odd, path)
			}
		}
		return nil
	})
	if err != nil {
		s.t.Error(err)
	}
	return n, odd
}
