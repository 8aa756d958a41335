package compaction

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction/internal/schedule"
	"github.com/shardcat/shardcat/internal/icebergaccess"
	"github.com/shardcat/shardcat/internal/nocache"
)

// TestReloadMakesTablesDue: with other settings tables that wait or fail are due at once; those that are halted or paused stay so.
func TestReloadMakesTablesDue(t *testing.T) {
	now := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	s, later := NewService(nil, ServiceOptions{Now: func() time.Time { return now }}), now.Add(time.Hour)
	states := map[State]bool{Waiting: true, Failing: true, Halted: false, Paused: false, Running: false}
	for state := range states {
		n := catalog.Name{Namespace: "default", Table: string(state)}
		s.tables[n] = &tableState{status: TableStatus{Table: n, State: state, NextRun: later}}
	}
	s.Reload(Overrides{"*": {"min-inputs": "3"}})
	for name, at := range s.tables {
		if due := at.status.NextRun.Equal(now); due != states[at.status.State] {
			t.Errorf("%s is due: %v", name, due)
		}
	}
	if s.overrides()["*"]["min-inputs"] != "3" {
		t.Errorf("settings: %v", s.overrides())
	}
}

// TestFailingSince: a table fails since its first failure, until a run succeeds.
func TestFailingSince(t *testing.T) {
	start, failed := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC), errors.New("broken by a test")
	at := &tableState{}
	for i, c := range []struct {
		err   error
		since time.Duration
	}{{failed, 0}, {failed, 0}, {failed, 0}, {nil, -1}, {failed, 4 * time.Minute}, {failed, 4 * time.Minute}} {
		at.finish(measurement{upkeep: defaultUpkeep}, Run{}, c.err, start.Add(time.Duration(i)*time.Minute))
		since := time.Time{}
		if c.since >= 0 {
			since = start.Add(c.since)
		}
		if !at.status.FailingSince.Equal(since) {
			t.Errorf("after run %d it fails since %s, want %s", i, at.status.FailingSince, since)
		}
	}
}

// TestDroppedTablesAreCollectedOnSchedule: at once, and then at each time of the schedule. A failure is logged, except where the service is being stopped.
func TestDroppedTablesAreCollectedOnSchedule(t *testing.T) {
	g, log := newGround(t), &lines{}
	now := time.Now().Truncate(24 * time.Hour).Add(12 * time.Hour)
	c, bucket := g.openFaulty()
	if _, err := c.Create(ctx, name, catalog.CreateOptions{Schema: fields(), CreateNamespace: true}); err != nil {
		t.Fatal(err)
	}
	s := NewService(c, ServiceOptions{
		Overrides: Overrides{"*": {"collect": "1d"}}, Log: slog.New(slog.NewTextHandler(log, nil)), Now: func() time.Time { return now },
	})
	for hours, swept := range []int{0, 1, 2} {
		now = now.Add(time.Duration(hours) * 11 * time.Hour) // 0, 11 and 33 hours after the first
		before := s.swept
		s.collectDropped(ctx)
		if done := !s.swept.Equal(before); done != (swept != 1) {
			t.Errorf("at %s it looked for dropped tables: %v", now, done)
		}
	}
	ended, end := context.WithCancel(ctx)
	end()
	for _, c := range []struct {
		ctx   context.Context
		lines int
	}{{ended, 0}, {ctx, 1}, {ctx, 2}} {
		now = now.Add(48 * time.Hour)
		bucket.Play(t, "any 1-: fail denied")
		s.collectDropped(c.ctx)
		bucket.Play(t, "")
		if n := log.count("could not be deleted"); n != c.lines {
			t.Errorf("%d lines of the log, want %d: %s", n, c.lines, log.text.String())
		}
	}
	now = now.Add(48 * time.Hour)
	s.collectDropped(ctx)
	if n := log.count("could not be deleted"); n != 2 {
		t.Errorf("a success is logged as a failure: %s", log.text.String())
	}
}

// pastCaches counts the loads of tables that bypass caches.
type pastCaches struct {
	icecatalog.Catalog
	loads, past atomic.Int64
}

func (c *pastCaches) LoadTable(ctx context.Context, ident table.Identifier) (*table.Table, error) {
	c.loads.Add(1)
	if nocache.Is(ctx) {
		c.past.Add(1)
	}
	return c.Catalog.LoadTable(ctx, ident)
}

// TestDamagedTablesAreReadPastCaches: the run after one that found damage takes nothing from a cache, which may be what is damaged.
func TestDamagedTablesAreReadPastCaches(t *testing.T) {
	g, log := newGround(t), &lines{}
	fill(t, g.create(), 3)
	looks := &pastCaches{}
	o := g.options()
	icebergaccess.Wrap(&o, func(c icecatalog.Catalog) icecatalog.Catalog { looks.Catalog = c; return looks })
	s := NewService(g.over(nil, o), ServiceOptions{Log: slog.New(slog.NewTextHandler(log, nil))})
	for _, damages := range []int{0, 1} {
		looks.loads.Store(0)
		looks.past.Store(0)
		s.tables[name] = &tableState{damages: damages, status: TableStatus{Table: name, State: Running}}
		s.maintain(ctx, name)
		if st := s.tables[name].status; st.Problem != "" {
			t.Fatal(st.Problem)
		}
		if loads, past := looks.loads.Load(), looks.past.Load(); loads == 0 || past > 0 != (damages > 0) {
			t.Errorf("after %d damages %d of %d loads bypass caches", damages, past, loads)
		}
	}
	if log.count("compacted") != 1 || log.count("compaction failed") != 0 {
		t.Errorf("of one compaction and a look that found nothing the log has %s", log.text.String())
	}
}

// TestFailedGroupsFailThePlan: whatever request a group fails at, the plan ends with ErrGroups, and no row is lost.
func TestFailedGroupsFailThePlan(t *testing.T) {
	failed := 0
	for n := 1; n <= 12; n++ {
		g := newGround(t)
		fill(t, g.create(), 3)
		before := contents(t, g.load(nil))
		c, bucket := g.openFaulty()
		tbl, err := c.Load(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		bucket.Play(t, fmt.Sprintf("put %d: fail denied", n))
		report, err := Compact(ctx, tbl, Policy{}, Options{})
		bucket.Play(t, "")
		if report != nil && len(report.Failed) > 0 {
			failed++
			if !errors.Is(err, ErrGroups) || report.Failed[0].Halts {
				t.Errorf("put %d: %v, of groups that failed: %+v", n, err, report.Failed)
			}
		}
		if after := contents(t, g.load(nil)); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("put %d: %d rows became %d", n, len(before), len(after))
		}
	}
	if failed == 0 {
		t.Error("no group failed")
	}
}

// TestScheduleOfAFailedLook: a table whose settings could not be read keeps its schedule, and one without any gets the default.
func TestScheduleOfAFailedLook(t *testing.T) {
	hourly, err := parseSchedule("1h")
	if err != nil {
		t.Fatal(err)
	}
	daily, err := parseSchedule("1d")
	if err != nil {
		t.Fatal(err)
	}
	failed := errors.New("broken by a test")
	for _, c := range []struct {
		name            string
		had, look, want schedule.Schedule
		settled         bool
	}{
		{"settings not read, first look", schedule.Schedule{}, daily, daily, false},
		{"settings not read", hourly, daily, hourly, false},
		{"settings read", hourly, daily, daily, true},
	} {
		at := &tableState{schedule: c.had}
		at.finish(measurement{upkeep: upkeep{schedule: c.look}, settled: c.settled}, Run{}, failed, time.Now())
		if at.schedule != c.want {
			t.Errorf("%s: %s", c.name, at.schedule)
		}
	}
}
