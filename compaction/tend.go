package compaction

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/shardcat/shardcat/catalog"
)

// ServiceSettings are the settings that only a service reads; they stand beside those of the policy.
var ServiceSettings = []string{"schedule", "jitter", "pause", "expire", "collect"}

// upkeep is what the service settings of a table say.
type upkeep struct {
	schedule Schedule
	jitter   float64
	paused   bool
	// expire is the age from which on snapshots expire, negative for never.
	expire time.Duration
	// collect is the time between two collections, negative for none.
	collect time.Duration
}

// DefaultJitter is the share by which the time between two runs varies.
const DefaultJitter = 0.1

func upkeepOf(properties map[string]string) (u upkeep, err error) {
	u = upkeep{jitter: DefaultJitter, expire: catalog.DefaultExpireAge, collect: -1}
	if u.schedule, err = ParseSchedule(properties[PropertyPrefix+"schedule"]); err != nil {
		return u, err
	}
	for _, name := range ServiceSettings[1:] {
		text, ok := properties[PropertyPrefix+name]
		if !ok {
			continue
		}
		if err := u.set(name, text); err != nil {
			return u, fmt.Errorf("%w: %s %q: %w", ErrPolicy, name, text, err)
		}
	}
	return u, nil
}

func (u *upkeep) set(name, text string) (err error) {
	switch name {
	case "jitter":
		if u.jitter, err = strconv.ParseFloat(text, 64); err == nil && !(u.jitter >= 0 && u.jitter <= 1) {
			err = errors.New("want a share from 0 to 1")
		}
	case "pause":
		u.paused, err = strconv.ParseBool(text)
	case "expire":
		u.expire, err = parseAgeOrNever(text)
	case "collect":
		u.collect, err = parseAgeOrNever(text)
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

// looked is what a run found.
type looked struct {
	upkeep
	shards, records, bytes      int64
	groups                      int
	backlogShards, backlogBytes int64
}

// work does everything that is due for a table.
func (s *Service) work(ctx context.Context, name catalog.Name, run *Run) (look looked, err error) {
	t, err := s.cat.Load(ctx, name)
	if err != nil {
		return look, err
	}
	properties := maps.Clone(t.Properties())
	if s.o.Settings != nil {
		for setting, value := range s.o.Settings(name) {
			properties[PropertyPrefix+setting] = value
		}
	}
	if look.upkeep, err = upkeepOf(properties); err != nil {
		return look, err
	}
	policy, err := PolicyOf(properties)
	if err != nil {
		return look, err
	}
	var left *Plan
	if !look.paused {
		if left, err = keep(ctx, t, policy, look.upkeep, s.o.Now(), run); err == nil {
			err = errors.Join(s.index(ctx, t, run), s.collect(ctx, t, look.upkeep, run))
		}
	}
	return look, errors.Join(err, look.measure(ctx, t, policy, left))
}

// keep drops what retention says, compacts and expires. left is the plan of what is still to do, nil if only a new one tells: a
// table at rest, as most are, is planned once.
func keep(ctx context.Context, t *catalog.Table, policy Policy, u upkeep, now time.Time, run *Run) (left *Plan, err error) {
	age, err := t.Retention()
	if err != nil {
		return nil, err
	}
	if age > 0 {
		dropped, err := t.ApplyRetention(ctx, catalog.DeleteOptions{})
		if err != nil {
			return nil, fmt.Errorf("retention: %w", err)
		}
		run.RowsExpired = dropped.Rows
	}
	report, err := Compact(ctx, t, policy, Options{})
	run.Results, run.BytesMoved, run.Conflicts = report.Results, report.BytesMoved, report.Lost
	if len(report.Results) == 0 && report.Lost == 0 {
		left = report.Plan
	}
	if err != nil || u.expire < 0 {
		return left, err
	}
	plan, err := t.PlanExpire(catalog.ExpireOptions{OlderThan: now.Add(-u.expire)})
	if err != nil || len(plan.Snapshots) == 0 {
		return left, err
	}
	if err := plan.Execute(ctx); err != nil {
		return left, fmt.Errorf("expire: %w", err)
	}
	run.SnapshotsExpired = len(plan.Snapshots)
	return left, nil
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
	s.mu.Lock()
	last := time.Time{}
	if known := s.tables[t.Name()]; known != nil {
		last = known.collected
	}
	s.mu.Unlock()
	if u.collect < 0 || s.o.Now().Sub(last) < u.collect {
		return nil
	}
	done, err := t.Collect(ctx, catalog.CollectOptions{Execute: true})
	if err != nil && !errors.Is(err, catalog.ErrConflict) {
		return fmt.Errorf("collect: %w", err)
	}
	if err == nil {
		run.ObjectsMarked, run.ObjectsDeleted = len(done.Mark), done.Deleted
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.tables[t.Name()]; known != nil {
		known.collected = s.o.Now()
	}
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
