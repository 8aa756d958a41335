package compaction

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/shardcat/shardcat/catalog"
)

// upkeep is what the service settings of a table say.
type upkeep struct {
	schedule Schedule
	jitter   float64
	paused   bool
	// retention is the age from which on rows are dropped; 0 if the table's own property tells.
	retention time.Duration
	// expire is the age from which on snapshots expire, negative for never.
	expire time.Duration
	// retain, expiry and collect say when these are done: the zero value with every run, nil never.
	retain, expiry, collect *Schedule
}

// DefaultJitter is the share by which the time between two runs varies.
const DefaultJitter = 0.1

var defaultUpkeep = upkeep{
	schedule: Schedule{every: DefaultEvery, text: DefaultEvery.String()}, jitter: DefaultJitter,
	expire: catalog.DefaultExpireAge, retain: new(Schedule), expiry: new(Schedule),
}

// serviceSettings make up an upkeep.
var serviceSettings = []setting{
	{"schedule", "time between two looks at a table, or five fields of cron",
		func(r *rules, text string) (err error) { r.schedule, err = ParseSchedule(text); return err },
		func(r *rules) string { return r.schedule.String() }},
	{"jitter", "share of that time that is added at random", (*rules).setJitter,
		func(r *rules) string { return strconv.FormatFloat(r.jitter, 'g', -1, 64) }},
	{"pause", "look at the table, and do nothing",
		func(r *rules, text string) (err error) { r.paused, err = strconv.ParseBool(text); return err },
		func(r *rules) string { return strconv.FormatBool(r.paused) }},
	{"retention", "age from which on rows are dropped by whole shards, or table for what its property " + catalog.RetentionProperty + " says",
		func(r *rules, text string) (err error) { r.retention, err = parseRetention(text); return err },
		func(*rules) string { return "table" }},
	{"retention-schedule", "when that is done: an interval, cron, always or never", scheduleAt(func(r *rules) **Schedule { return &r.retain }),
		func(*rules) string { return "always" }},
	{"expire", "age from which on snapshots expire, or never",
		func(r *rules, text string) (err error) { r.expire, err = parseAgeOrNever(text); return err },
		func(r *rules) string { return r.expire.String() }},
	{"expire-schedule", "when that is done: an interval, cron, always or never", scheduleAt(func(r *rules) **Schedule { return &r.expiry }),
		func(*rules) string { return "always" }},
	{"collect", "when what nothing reaches is collected: an interval, cron, always or never", scheduleAt(func(r *rules) **Schedule { return &r.collect }),
		func(*rules) string { return "never" }},
}

func (r *rules) setJitter(text string) (err error) {
	if r.jitter, err = strconv.ParseFloat(text, 64); err == nil && !(r.jitter >= 0 && r.jitter <= 1) {
		err = errors.New("want a share from 0 to 1")
	}
	return err
}

// parseAgeOrNever reads a duration; "never" is negative.
func parseAgeOrNever(text string) (time.Duration, error) {
	if text == "never" {
		return -1, nil
	}
	return catalog.ParseAge(text)
}

// parseRetention reads an age above nothing; "table" is 0.
func parseRetention(text string) (time.Duration, error) {
	if text == "table" {
		return 0, nil
	}
	d, err := catalog.ParseAge(text)
	if err == nil && d == 0 {
		err = errors.New("want more than nothing")
	}
	return d, err
}

// scheduleAt reads when one kind of work is done.
func scheduleAt(at func(*rules) **Schedule) func(*rules, string) error {
	return func(r *rules, text string) error {
		switch text {
		case "never":
			*at(r) = nil
			return nil
		case "always":
			*at(r) = new(Schedule)
			return nil
		}
		s, err := ParseSchedule(text)
		*at(r) = &s
		return err
	}
}

// chore is a kind of work that has a schedule of its own besides the table's.
type chore string

const (
	retaining  chore = "retention"
	expiring   chore = "expire"
	collecting chore = "collect"
)

// isDue reports whether a chore is to be done in this run. What was never done by this process is: it may have been missed while
// none was running.
func (s *Service) isDue(name catalog.Name, c chore, when *Schedule) bool {
	if when == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tables[name]
	if t == nil || t.done[c].IsZero() || *when == (Schedule{}) {
		return true
	}
	now := s.o.Now()
	return now.Before(t.done[c]) || !when.Next(t.done[c]).After(now) // a clock that was set back has not done it yet
}

// did books that a chore was done.
func (s *Service) did(name catalog.Name, c chore) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tables[name]; t != nil {
		if t.done == nil {
			t.done = map[chore]time.Time{}
		}
		t.done[c] = s.o.Now()
	}
}

// looked is what a run found.
type looked struct {
	upkeep
	shards, records, bytes      int64
	groups                      int
	backlogShards, backlogBytes int64
}

// work does everything that is due for a table.
func (s *Service) work(ctx context.Context, name catalog.Name, run *Run) (look looked, err error) {
	look.upkeep = defaultUpkeep
	t, err := s.cat.Load(ctx, name)
	if err != nil {
		return look, err
	}
	in, err := EffectiveOf(ctx, t, s.overrides())
	if err != nil {
		return look, err
	}
	look.upkeep = in.upkeep
	var left *Plan
	if !look.paused {
		if left, err = s.keep(ctx, t, in, run); err == nil {
			err = errors.Join(s.index(ctx, t, run), s.collect(ctx, t, in.upkeep, run))
		}
	}
	return look, errors.Join(err, look.measure(ctx, t, in.Policy, left))
}

// keep drops what retention says, compacts and expires. left is the plan of what is still to do, nil if only a new one tells: a
// table at rest, as most are, is planned once.
func (s *Service) keep(ctx context.Context, t *catalog.Table, in *Effective, run *Run) (left *Plan, err error) {
	if err := s.retain(ctx, t, in.upkeep, run); err != nil {
		return nil, fmt.Errorf("retention: %w", err)
	}
	if left, err = s.compact(ctx, t, in.Policy, run); err != nil {
		return left, err
	}
	if err := s.expire(ctx, t, in.upkeep, run); err != nil {
		return left, fmt.Errorf("expire: %w", err)
	}
	return left, nil
}

// compact does what a plan says under the table's lease; a table at rest needs none. Where another process holds it, or takes it over,
// that one does the work: no failure. left is as keep's.
func (s *Service) compact(ctx context.Context, t *catalog.Table, policy Policy, run *Run) (left *Plan, err error) {
	if left, err = NewPlan(ctx, t, policy); err != nil || len(left.Groups) == 0 {
		return left, err
	}
	lease, err := t.LeaseForCompaction(ctx)
	if errors.Is(err, catalog.ErrConflict) {
		run.Lease = LeaseBusy
		return left, nil
	}
	if err != nil {
		return left, err
	}
	defer lease.Release(ctx)
	run.Lease = LeaseHeld
	if err := t.Refresh(ctx); err != nil { // who held the lease before may have done it all
		return left, err
	}
	report, err := Compact(ctx, t, policy, Options{Fence: lease.Check})
	run.Results, run.BytesMoved, run.Conflicts = report.Results, report.BytesMoved, report.Lost
	if errors.Is(err, catalog.ErrLeaseLost) {
		s.o.Log.Warn("another process has taken over", "table", t.Name(), "error", err)
		run.Lease, err = LeaseLost, nil
	}
	return nil, err
}

// retain drops the shards that are older than the table's retention, or than what its settings say.
func (s *Service) retain(ctx context.Context, t *catalog.Table, u upkeep, run *Run) error {
	age, err := t.Retention()
	if age = cmp.Or(u.retention, age); err != nil || age == 0 || !s.isDue(t.Name(), retaining, u.retain) {
		return err
	}
	dropped, err := t.DropOlder(ctx, age, catalog.DeleteOptions{})
	if err != nil {
		return err
	}
	run.RowsExpired = dropped.Rows
	s.did(t.Name(), retaining)
	return nil
}

// expire takes old snapshots out of the table's metadata. On a table that others write to all the time a race may be lost: no failure,
// the next run goes on.
func (s *Service) expire(ctx context.Context, t *catalog.Table, u upkeep, run *Run) error {
	if u.expire < 0 || !s.isDue(t.Name(), expiring, u.expiry) {
		return nil
	}
	plan, err := t.PlanExpire(catalog.ExpireOptions{OlderThan: s.o.Now().Add(-u.expire)})
	if err != nil {
		return err
	}
	if len(plan.Snapshots) > 0 {
		err := plan.Execute(ctx)
		if errors.Is(err, catalog.ErrConflict) {
			s.o.Log.Info("snapshots expire later", "table", t.Name(), "reason", err)
			return nil
		}
		if err != nil {
			return err
		}
	}
	run.SnapshotsExpired = len(plan.Snapshots)
	s.did(t.Name(), expiring)
	return nil
}

// index builds the indexes that the table's property asks for where shards lack them, once for each of its values: new
// shards get theirs as they are written. A lost race is no failure; the next run goes on.
func (s *Service) index(ctx context.Context, t *catalog.Table, run *Run) error {
	want := t.Properties()[catalog.IndexesProperty]
	s.mu.Lock()
	known := s.tables[t.Name()]
	done := known == nil || known.indexed == want
	s.mu.Unlock()
	if done {
		return nil
	}
	built, err := t.BuildIndexes(ctx, catalog.IndexOptions{})
	run.IndexesBuilt = built.Built
	if errors.Is(err, catalog.ErrConflict) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("indexes: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known.indexed = want
	return nil
}

// collect deletes what nothing reaches any more, if it is time to. Another collector at work is no failure.
func (s *Service) collect(ctx context.Context, t *catalog.Table, u upkeep, run *Run) error {
	if !s.isDue(t.Name(), collecting, u.collect) {
		return nil
	}
	done, err := t.Collect(ctx, catalog.CollectOptions{Execute: true})
	if err != nil && !errors.Is(err, catalog.ErrConflict) {
		return fmt.Errorf("collect: %w", err)
	}
	if err == nil {
		run.ObjectsMarked, run.ObjectsDeleted = len(done.Mark), done.Deleted
	}
	s.did(t.Name(), collecting)
	return nil
}

// measure takes down the table's size and what is still to do: what a plan says, or a new one if it is nil.
func (l *looked) measure(ctx context.Context, t *catalog.Table, policy Policy, plan *Plan) (err error) {
	d := t.Describe()
	l.shards, l.records, l.bytes = d.Shards, d.Records, d.DataBytes
	if plan == nil {
		if plan, err = NewPlan(ctx, t, policy); err != nil {
			return err
		}
	}
	l.groups = len(plan.Groups)
	for i := range plan.Groups {
		l.backlogShards += int64(len(plan.Groups[i].Inputs))
		l.backlogBytes += plan.Groups[i].Bytes
	}
	return nil
}
