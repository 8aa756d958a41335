package compaction

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction/internal/schedule"
	"github.com/shardcat/shardcat/internal/testkit/fakeclock"
)

// While another process holds a table's lease, nothing is dropped, expired or indexed; once it is released, all of it is done in one run.
func TestEveryChangeNeedsTheLease(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 3) // of 2024
	if err := SetPolicy(ctx, tbl, map[string]string{"retention": "1d", "expire": "0s", "allow-concat": "false"}); err != nil {
		t.Fatal(err)
	}
	if _, err := tbl.Ingest(ctx, rows(30, 10), catalog.IngestOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := tbl.SetProperties(ctx, map[string]string{catalog.IndexesProperty: "text:name"}, nil); err != nil {
		t.Fatal(err)
	}
	lease, err := g.load(nil).LeaseForCompaction(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s, runs, stop := serve(t, g.open(nil), ServiceOptions{})
	defer stop()
	run := await(t, runs, 1)[0]
	if run.Lease != LeaseBusy || run.Error != "" || run.RowsExpired != 0 || run.SnapshotsExpired != 0 || run.IndexesBuilt != 0 {
		t.Errorf("%+v", run)
	}
	statusOf(t, s, name)
	if d := g.load(nil).Describe(); d.Records != 40 {
		t.Errorf("%d rows", d.Records)
	}
	lease.Release(ctx)
	if err := s.RunNow(name); err != nil {
		t.Fatal(err)
	}
	run = await(t, runs, 1)[0]
	if run.Lease != LeaseHeld || run.Error != "" || run.RowsExpired != 30 || run.SnapshotsExpired == 0 || run.IndexesBuilt != 1 {
		t.Errorf("%+v", run)
	}
}

// A service that is killed after it has written, and before its commit, leaves work that the next one finishes: it does not write again.
func TestServiceFinishesForTheKilled(t *testing.T) {
	g := newGround(t)
	fill(t, g.create(), 4)
	before := contents(t, g.load(nil))
	killed := begun(t, g.load(nil), Concat, Policy{}, Options{})
	if err := killed.Write(ctx); err != nil {
		t.Fatal(err)
	}
	written := objectsOf(t, g.load(nil))
	s, runs, stop := serve(t, g.open(nil), ServiceOptions{})
	defer stop()
	run := await(t, runs, 1)[0]
	if run.Resumed != 1 || len(run.Results) != 1 || run.Error != "" {
		t.Errorf("%+v", run)
	}
	statusOf(t, s, name)
	after := g.load(nil)
	if got := objectsOf(t, after); !slices.Equal(got, written) {
		t.Errorf("%d objects were written, there are %d", len(written), len(got))
	}
	if got := contents(t, after); !slices.Equal(got, before) || after.Describe().Shards != 1 {
		t.Errorf("%d rows became %d in %d shards", len(before), len(got), after.Describe().Shards)
	}
}

// A service that was down over the time of a nightly schedule does at once, and once, what it missed; the night after it keeps to the schedule.
func TestCatchUp(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 3)
	if err := SetPolicy(ctx, tbl, map[string]string{"schedule": "0 3 * * *", "jitter": "0", "expire": "0s", "expire-schedule": "0 3 * * *"}); err != nil {
		t.Fatal(err)
	}
	night := time.Now().UTC().Truncate(24 * time.Hour).Add(24*time.Hour + 3*time.Hour)
	clock := fakeclock.New(night.Add(5 * time.Hour)) // five hours late
	s, runs, stop := serve(t, g.open(nil), ServiceOptions{Now: clock.Now})
	defer stop()
	run := await(t, runs, 1)[0]
	st := statusOf(t, s, name)
	if len(run.Results) != 1 || run.SnapshotsExpired == 0 || run.Error != "" {
		t.Errorf("%+v", run)
	}
	if next := night.Add(24 * time.Hour); !st.NextRun.Equal(next) {
		t.Errorf("the next run is at %s, want %s", st.NextRun, next)
	}
	if due, _ := s.due(); due != (catalog.Name{}) {
		t.Error("it is due again at once")
	}
}

// A hundred tables share one worker that needs a minute for each: a table with a large backlog comes more often than the others, and none
// waits longer than a few rounds.
func TestFairShares(t *testing.T) {
	const tables, minutes = 100, 3000
	now := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	s := NewService(nil, ServiceOptions{Now: func() time.Time { return now }})
	every, err := parseSchedule("1m")
	if err != nil {
		t.Fatal(err)
	}
	large := catalog.Name{Namespace: "default", Table: "t0"}
	for i := range tables {
		n := catalog.Name{Namespace: "default", Table: fmt.Sprint("t", i)}
		at := &tableState{schedule: every, status: TableStatus{Table: n, State: Waiting, NextRun: now}}
		if n == large {
			at.status.BacklogShards = 1000
		}
		s.tables[n] = at
	}
	last, longest, visits := map[catalog.Name]time.Time{}, time.Duration(0), map[catalog.Name]int{}
	for range minutes {
		n, wait := s.due()
		if wait > 0 {
			now = now.Add(wait)
			continue
		}
		if !s.start(n) {
			t.Fatalf("the worker does not start %s, which is due", n)
		}
		if !last[n].IsZero() {
			longest = max(longest, now.Sub(last[n]))
		}
		last[n], visits[n] = now, visits[n]+1
		now = now.Add(time.Minute)
		at := s.tables[n]
		backlog := at.status.BacklogShards
		look := measurement{upkeep: upkeep{schedule: every}, backlogShards: backlog} // writers are as fast as the service
		at.finish(look, Run{}, nil, now)
	}
	if longest > 3*tables*time.Minute {
		t.Errorf("a table waited for %s", longest)
	}
	if len(visits) != tables || visits[large] < 3*minutes/tables {
		t.Errorf("%d tables were visited, the one with the large backlog %d times in %d minutes", len(visits), visits[large], minutes)
	}
}

// A chore that was done waits for the next time of its schedule, whatever the others do; one that this process has not done yet is due.
func TestChoresKeepTheirSchedules(t *testing.T) {
	now := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	s := NewService(nil, ServiceOptions{Now: func() time.Time { return now }})
	s.tables[name] = &tableState{}
	nightly, err := parseSchedule("0 3 * * *")
	if err != nil {
		t.Fatal(err)
	}
	due := func(want bool, c chore, when *schedule.Schedule) {
		t.Helper()
		if got := s.isDue(name, c, when); got != want {
			t.Errorf("at %s: %s is due: %v, want %v", now, c, got, want)
		}
	}
	due(true, expiring, &nightly)
	due(false, expiring, nil)
	s.did(name, expiring)
	due(false, expiring, &nightly)
	due(true, expiring, &schedule.Schedule{})
	due(true, collecting, &nightly)
	now = now.Add(14 * time.Hour)
	due(false, expiring, &nightly)
	now = now.Add(time.Hour)
	due(true, expiring, &nightly)
	delete(s.tables, name) // dropped during the run
	s.did(name, expiring)
	due(true, expiring, &nightly)
}
