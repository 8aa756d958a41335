package compaction

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction/internal/schedule"
	"github.com/shardcat/shardcat/internal/literal"
)

// upkeep is what the service settings of a table say.
type upkeep struct {
	schedule schedule.Schedule
	jitter   float64
	paused   bool
	// retention is the age from which on rows are dropped; 0 if the table's own property reports.
	retention time.Duration
	// expire is the age from which on snapshots expire, negative for never.
	expire time.Duration
	// retain, expiry and collect determine when these are done: the zero value with every run, nil never.
	retain, expiry, collect *schedule.Schedule
	// minAge, deleteDelay and ratio are those of collections, 0 for the service's.
	minAge, deleteDelay time.Duration
	ratio               float64
}

// defaultCollectRatio is the share of a table's objects above which a collection is refused. Most objects of a table that is rebuilt all
// the time are garbage, so it is larger than that of the command.
const defaultCollectRatio = 0.95

// defaultJitter is the share by which the time between two runs varies.
const defaultJitter = 0.1

// daily is how often a table is collected.
var daily = schedule.Every(24*time.Hour, "24h")

var defaultUpkeep = upkeep{
	schedule: schedule.Default, jitter: defaultJitter,
	expire: catalog.DefaultExpireAge, retain: new(schedule.Schedule), expiry: new(schedule.Schedule),
	collect: &daily,
}

// parseSchedule is schedule.Parse, whose errors are ErrPolicy here.
func parseSchedule(text string) (schedule.Schedule, error) {
	s, err := schedule.Parse(text)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrPolicy, err)
	}
	return s, err
}

// serviceSettings make up an upkeep.
var serviceSettings = []setting{
	{"schedule", "interval between two runs over a table, or a cron expression with five fields",
		func(r *rules, text string) (err error) { r.schedule, err = parseSchedule(text); return err },
		func(r *rules) string { return r.schedule.String() }, false},
	{"jitter", "share of the interval that is added as random jitter", (*rules).setJitter,
		func(r *rules) string { return strconv.FormatFloat(r.jitter, 'g', -1, 64) }, false},
	{"pause", "suspend maintenance of the table",
		func(r *rules, text string) (err error) { r.paused, err = strconv.ParseBool(text); return err },
		func(r *rules) string { return strconv.FormatBool(r.paused) }, true},
	{"retention", "age from which rows are dropped by whole shards, or table for the value of its property " + catalog.RetentionProperty,
		func(r *rules, text string) (err error) { r.retention, err = parseRetention(text); return err },
		func(*rules) string { return "table" }, false},
	{"retention-schedule", "schedule of this step: an interval, a cron expression, always or never", scheduleAt(func(r *rules) **schedule.Schedule { return &r.retain }),
		func(*rules) string { return "always" }, false},
	{"expire", "age from which snapshots expire, or never",
		func(r *rules, text string) (err error) { r.expire, err = parseAgeOrNever(text); return err },
		func(r *rules) string { return r.expire.String() }, false},
	{"expire-schedule", "schedule of this step: an interval, a cron expression, always or never", scheduleAt(func(r *rules) **schedule.Schedule { return &r.expiry }),
		func(*rules) string { return "always" }, false},
	{"collect", "schedule of garbage collection: an interval, a cron expression, always or never", scheduleAt(func(r *rules) **schedule.Schedule { return &r.collect }),
		func(r *rules) string { return r.collect.String() }, false},
	{"collect-min-age", "minimum age of objects to mark for deletion, 24h or more, or serve for the value of serve", ageAtLeast(catalog.SafeMinAge, func(r *rules) *time.Duration { return &r.minAge }),
		func(*rules) string { return "serve" }, false},
	{"collect-delete-delay", "delay from marking to deleting an object, or serve for the value of serve", ageAtLeast(time.Second, func(r *rules) *time.Duration { return &r.deleteDelay }),
		func(*rules) string { return "serve" }, false},
	{"collect-max-delete-ratio", "share of a table's objects above which a collection is refused, or serve for the value of serve", (*rules).setRatio,
		func(*rules) string { return "serve" }, false},
}

// ageAtLeast reads an age; "serve" is 0.
func ageAtLeast(least time.Duration, at func(*rules) *time.Duration) func(*rules, string) error {
	return func(r *rules, text string) (err error) {
		if text == "serve" {
			*at(r) = 0
			return nil
		}
		if *at(r), err = literal.ParseAge(text); err == nil && *at(r) < least {
			err = fmt.Errorf("must be %s or more", least)
		}
		return err
	}
}

func (r *rules) setRatio(text string) (err error) {
	if text == "serve" {
		r.ratio = 0
		return nil
	}
	if r.ratio, err = strconv.ParseFloat(text, 64); err == nil && !(r.ratio > 0 && r.ratio <= 1) {
		err = errors.New("must be a share above 0, up to 1")
	}
	return err
}

func (r *rules) setJitter(text string) (err error) {
	if r.jitter, err = strconv.ParseFloat(text, 64); err == nil && !(r.jitter >= 0 && r.jitter <= 1) {
		err = errors.New("must be a share from 0 to 1")
	}
	return err
}

// parseAgeOrNever reads a duration; "never" is negative.
func parseAgeOrNever(text string) (time.Duration, error) {
	if text == "never" {
		return -1, nil
	}
	return literal.ParseAge(text)
}

// parseRetention reads an age above nothing; "table" is 0.
func parseRetention(text string) (time.Duration, error) {
	if text == "table" {
		return 0, nil
	}
	d, err := literal.ParseAge(text)
	if err == nil && d == 0 {
		err = errors.New("must be a positive duration")
	}
	return d, err
}

// scheduleAt reads when one kind of work is done.
func scheduleAt(at func(*rules) **schedule.Schedule) func(*rules, string) error {
	return func(r *rules, text string) error {
		switch text {
		case "never":
			*at(r) = nil
			return nil
		case "always":
			*at(r) = new(schedule.Schedule)
			return nil
		}
		s, err := parseSchedule(text)
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
func (s *Service) isDue(name catalog.Name, c chore, when *schedule.Schedule) bool {
	if when == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tables[name]
	if t == nil || t.done[c].IsZero() || *when == (schedule.Schedule{}) {
		return true
	}
	return when.Passed(t.done[c], s.o.Now())
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

// measurement is the state of a table that a run found.
type measurement struct {
	upkeep
	shards, records, bytes      int64
	groups                      int
	backlogShards, backlogBytes int64
	targetSize                  int64

	quarantined, quarantinedShards int
	// problem is why, in one line.
	problem string
	// settled: the settings are known; measured: the sizes and the backlog are.
	settled, measured bool
}

// work does everything that is due for a table.
func (s *Service) work(ctx context.Context, name catalog.Name, run *Run) (look measurement, err error) {
	look.upkeep = defaultUpkeep
	above, err := s.levelsAbove(ctx, name.Namespace)
	if err != nil {
		return look, err
	}
	if r := s.atRest(ctx, name, above); r != nil {
		return r.look, nil
	}
	t, err := s.cat.Load(ctx, name)
	if err != nil {
		return look, err
	}
	in, err := effectiveBelow(t, above, s.overrides())
	if err != nil {
		return look, err
	}
	look.upkeep, look.settled = in.upkeep, true
	v := &maintenanceRun{service: s, table: t, in: in, run: run}
	defer v.leave(ctx)
	if !look.paused {
		err = v.keep(ctx)
		if errors.Is(err, catalog.ErrLeaseLost) {
			s.o.Log.Warn("another process has taken over", "table", name, "error", err)
			run.Lease, err = LeaseLost, nil
		}
	}
	look.hold(v.held)
	if v.refused != "" {
		look.problem = "collection: " + v.refused
	}
	measureErr := look.measure(ctx, t, in.Policy, v.left, v.held)
	look.measured = measureErr == nil
	err = lostRoot(ctx, t, errors.Join(err, measureErr))
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.tables[name]; known != nil {
		known.retry = false
		if known.rest = nil; err == nil {
			known.rest = v.restOf(look, above, s.o.Now())
		}
	}
	return look, err
}

// hold takes down what is in quarantine.
func (l *measurement) hold(q *Quarantine) {
	groups := q.Groups()
	l.quarantined, l.problem = len(groups), q.problem()
	for _, g := range groups {
		l.quarantinedShards += len(g.Inputs)
	}
}

// measure takes down the table's size and what is still to do: what a plan states, or a new one if it is nil.
func (l *measurement) measure(ctx context.Context, t *catalog.Table, policy Policy, plan *Plan, held *Quarantine) (err error) {
	d := t.Describe()
	l.shards, l.records, l.bytes, l.targetSize = d.Shards, d.Records, d.DataBytes, policy.withDefaults().TargetSize
	if plan == nil {
		if plan, err = newPlan(ctx, t, policy, held); err != nil {
			return err
		}
	}
	l.groups = len(plan.Groups)
	for i := range plan.Groups {
		l.backlogShards += int64(plan.Groups[i].Inputs.Len())
		l.backlogBytes += plan.Groups[i].Bytes
	}
	return nil
}
