package compaction

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/testkit/fakeclock"
)

// One of two compactors holds a table's lease; who has lost it finds out before the commit, and leaves the table as the other made it.
func TestLeaseFencesCommits(t *testing.T) {
	g := newGround(t)
	fill(t, g.create(), 4)
	before := contents(t, g.load(nil))
	mine := g.load(nil)
	lease, err := mine.LeaseForCompaction(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.load(nil).LeaseForCompaction(ctx); !errors.Is(err, catalog.ErrConflict) {
		t.Errorf("a second lease: %v", err)
	}
	// An hour later, by a clock that may as well be wrong, another process takes over in the middle of the first one's run.
	late := openAt(t, g, fakeclock.New(time.Now().Add(time.Hour)))
	var other *catalog.CompactLease
	fence := func(ctx context.Context) error {
		if other == nil {
			if other, err = late.LeaseForCompaction(ctx); err != nil {
				t.Error(err)
			}
		}
		return lease.Check(ctx)
	}
	report, err := Compact(ctx, mine, Policy{}, Options{Fence: fence})
	if !errors.Is(err, catalog.ErrLeaseLost) || len(report.Results) != 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	lease.Release(ctx)
	if other.Token() <= lease.Token() {
		t.Errorf("token %s after %s", other.Token(), lease.Token())
	}
	if report, err := Compact(ctx, late, Policy{}, Options{Fence: other.Check}); err != nil || report.ShardsAfter != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	other.Release(ctx)
	sameContents(t, g.load(nil), before)
	if _, err := g.load(nil).LeaseForCompaction(ctx); err != nil {
		t.Errorf("after both are released: %v", err)
	}
}

// openAt loads the table in a catalog with a clock of its own.
func openAt(t *testing.T, g *ground, clock *fakeclock.Clock) *catalog.Table {
	t.Helper()
	o := g.options()
	o.Now = clock.Now
	c, err := catalog.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	tbl, err := c.Load(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	return tbl
}

// While another process holds the lease, a service looks and leaves the work to it; that is not a failure.
func TestServiceLeavesWorkToTheHolder(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 3)
	lease, err := g.load(nil).LeaseForCompaction(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s, runs, stop := serve(t, g.open(nil), ServiceOptions{})
	defer stop()
	if run := await(t, runs, 1)[0]; run.Lease != LeaseBusy || run.Error != "" || len(run.Results) != 0 {
		t.Errorf("%+v", run)
	}
	if st := statusOf(t, s, name); st.State != Waiting || st.BacklogShards != 3 {
		t.Errorf("%+v", st)
	}
	lease.Release(ctx)
	if err := s.RunNow(name); err != nil {
		t.Fatal(err)
	}
	if run := await(t, runs, 1)[0]; run.Lease != LeaseHeld || len(run.Results) != 1 {
		t.Errorf("%+v", run)
	}
}

// A clock that is set back or forth by an hour neither stops a service nor makes it run wild.
func TestClockJumps(t *testing.T) {
	now := time.Now()
	s := NewService(nil, ServiceOptions{Now: func() time.Time { return now }})
	every, err := parseSchedule("10m")
	if err != nil {
		t.Fatal(err)
	}
	at := &tableState{schedule: every, status: TableStatus{Table: name, State: Waiting, NextRun: now.Add(10 * time.Minute)}}
	s.tables[name] = at
	now = now.Add(-time.Hour)
	if due, _ := s.due(); due != (catalog.Name{}) {
		t.Error("due at once after the clock was set back")
	}
	if left := at.status.NextRun.Sub(now); left > 20*time.Minute {
		t.Errorf("set back by an hour, the next look comes in %s", left)
	}
	now = now.Add(2 * time.Hour)
	if due, _ := s.due(); due != name {
		t.Error("not due an hour later")
	}
	at.finish(measurement{upkeep: defaultUpkeep}, Run{}, nil, now)
	if due, _ := s.due(); due != (catalog.Name{}) {
		t.Error("due again at once")
	}
	at.done = map[chore]time.Time{collecting: now.Add(time.Hour)}
	daily, err := parseSchedule("1d")
	if err != nil {
		t.Fatal(err)
	}
	if !s.isDue(name, collecting, &daily) {
		t.Error("a chore that was done in the future is not due")
	}
}
