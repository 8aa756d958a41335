package compaction

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/shardcat/shardcat/catalog"
)

// maintenanceRun is one run of a service over one table. Whatever changes the table is done under its lease, which is taken when the first work is
// found and kept to the end: a table at rest costs no lease. Collection has a lease of its own, which `shardcat gc` takes too.
type maintenanceRun struct {
	service *Service
	table   *catalog.Table
	in      *Effective
	run     *Run

	lease *catalog.CompactLease
	// held is the table's quarantine, nil as long as nothing was to be compacted.
	held *Quarantine
	// refused is why a collection was, empty if none was.
	refused string
	// left is the plan of what is still to do, nil if only a new one reports: a table at rest, as most are, is planned once.
	left *Plan
}

// take takes the lease, or reports that another process has it, which does the work then: no failure.
func (v *maintenanceRun) take(ctx context.Context) (bool, error) {
	if v.lease != nil || v.run.Lease == LeaseBusy {
		return v.lease != nil, nil
	}
	lease, err := v.table.LeaseForCompaction(ctx)
	if errors.Is(err, catalog.ErrConflict) {
		v.run.Lease = LeaseBusy
		v.run.Holder, _ = v.table.CompactionHolder(ctx) // for the page
		return false, nil
	}
	if err != nil {
		return false, err
	}
	v.lease, v.run.Lease = lease, LeaseHeld
	return true, v.table.Refresh(ctx) // who held the lease before may have done it all
}

// check is called before each commit.
func (v *maintenanceRun) check(ctx context.Context) error { return v.lease.Check(ctx) }

func (v *maintenanceRun) leave(ctx context.Context) {
	if v.lease != nil {
		v.lease.Release(ctx)
	}
}

// keep drops what retention states, compacts, expires, builds indexes and collects.
func (v *maintenanceRun) keep(ctx context.Context) error {
	if err := v.retain(ctx); err != nil {
		return fmt.Errorf("retention: %w", err)
	}
	if err := v.compact(ctx); err != nil {
		return err
	}
	if err := v.expire(ctx); err != nil {
		return fmt.Errorf("expire: %w", err)
	}
	return errors.Join(v.index(ctx), v.keyIndexes(ctx), v.collect(ctx))
}

// options are those of compaction in this run.
func (v *maintenanceRun) options() Options {
	s := v.service
	return Options{Fence: v.check, Quarantine: v.held, Log: s.o.Log, Tracer: s.o.Tracer, Progress: func(p Progress) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if t := s.tables[v.table.Name()]; t != nil {
			t.progress = &p
		}
	}}
}

// resume commits what processes wrote that died. Only until it was done once it looks for named runs too: those are among the records
// of every job of the last months.
func (v *maintenanceRun) resume(ctx context.Context) ([]Result, error) {
	s := v.service
	s.mu.Lock()
	t := s.tables[v.table.Name()]
	all := t == nil || !t.resumed
	s.mu.Unlock()
	if !all {
		return resumeUnnamed(ctx, v.table, v.in.Policy, v.options())
	}
	done, err := ResumeAll(ctx, v.table, v.in.Policy, v.options())
	if err == nil && t != nil {
		s.mu.Lock()
		t.resumed = true
		s.mu.Unlock()
	}
	return done, err
}

// compact does what a plan states, and finishes what processes that died have left.
func (v *maintenanceRun) compact(ctx context.Context) (err error) {
	policy := v.in.Policy
	if v.left, err = NewPlan(ctx, v.table, policy); err != nil || len(v.left.Groups) == 0 {
		return err
	}
	if err := v.quarantine(ctx); err != nil {
		return err
	}
	if v.left, err = v.held.Plan(ctx, v.table, policy); err != nil || len(v.left.Groups) == 0 {
		return err
	}
	if ok, err := v.take(ctx); !ok || err != nil {
		return err
	}
	resumed, err := v.resume(ctx)
	v.run.Results, v.run.Resumed = resumed, len(resumed)
	if err != nil {
		return err
	}
	v.left = nil
	report, err := Compact(ctx, v.table, policy, v.options())
	v.run.Results = append(v.run.Results, report.Results...)
	v.run.BytesMoved, v.run.Conflicts, v.run.Failed = report.BytesMoved, report.Lost, report.Failed
	if errors.Is(err, ErrGroups) && !Halts(err) && len(v.held.Groups()) > 0 {
		err = nil // the groups are in quarantine; the table goes on
	}
	return errors.Join(err, v.held.forget(ctx, v.table))
}

// quarantine reads the table's, which holds nothing back if somebody requested the run.
func (v *maintenanceRun) quarantine(ctx context.Context) (err error) {
	s := v.service
	if v.held, err = LoadQuarantine(ctx, v.table, s.o.Now); err != nil {
		return err
	}
	s.mu.Lock()
	t := s.tables[v.table.Name()]
	retry := t != nil && t.retry
	if retry {
		t.retry = false
	}
	s.mu.Unlock()
	if retry {
		v.held.Retry()
	}
	return nil
}

// retain drops the shards that are older than the table's retention, or than what its settings say.
func (v *maintenanceRun) retain(ctx context.Context) error {
	s, t, u := v.service, v.table, v.in.upkeep
	age, err := t.Retention()
	if age = cmp.Or(u.retention, age); err != nil || age == 0 || !s.isDue(t.Name(), retaining, u.retain) {
		return err
	}
	old, err := t.DropOlder(ctx, age, catalog.DeleteOptions{DryRun: true})
	if err != nil {
		return err
	}
	if old.ShardsRemoved > 0 {
		if ok, err := v.take(ctx); !ok || err != nil {
			return err
		}
		if err := v.check(ctx); err != nil {
			return err
		}
		if old, err = t.DropOlder(ctx, age, catalog.DeleteOptions{}); err != nil {
			return err
		}
		v.run.RowsExpired = old.Rows
	}
	s.did(t.Name(), retaining)
	return nil
}

// expire takes old snapshots out of the table's metadata. On a table that others write to all the time a race may be lost: no failure,
// the next run goes on.
func (v *maintenanceRun) expire(ctx context.Context) error {
	s, t, u := v.service, v.table, v.in.upkeep
	if u.expire < 0 || !s.isDue(t.Name(), expiring, u.expiry) {
		return nil
	}
	options := catalog.ExpireOptions{OlderThan: s.o.Now().Add(-u.expire)}
	plan, err := t.PlanExpire(options)
	if err != nil {
		return err
	}
	if len(plan.Snapshots) > 0 {
		if ok, err := v.take(ctx); !ok || err != nil {
			return err
		}
		if err := v.check(ctx); err != nil {
			return err
		}
		if plan, err = t.PlanExpire(options); err != nil { // of the table as it is under the lease
			return err
		}
		if err = plan.Execute(ctx); errors.Is(err, catalog.ErrConflict) {
			s.o.Log.Info("snapshots could not be expired; retrying later", "table", t.Name(), "reason", err)
			return nil
		}
		if err != nil {
			return err
		}
	}
	v.run.SnapshotsExpired = len(plan.Snapshots)
	s.did(t.Name(), expiring)
	return nil
}

// index builds the indexes that the table's property requires where shards lack them, once for each of its values: new
// shards get theirs as they are written. A lost race is not a failure; the next run goes on.
func (v *maintenanceRun) index(ctx context.Context) error {
	s, t := v.service, v.table
	want := t.Properties()[catalog.IndexesProperty]
	s.mu.Lock()
	known := s.tables[t.Name()]
	done := known == nil || known.indexed == want
	s.mu.Unlock()
	if done {
		return nil
	}
	if ok, err := v.take(ctx); !ok || err != nil {
		return err
	}
	built, err := t.BuildIndexes(ctx, catalog.IndexOptions{})
	v.run.IndexesBuilt = built.Built
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

// keyIndexes brings the table's key indexes to its shards: those that writers have added, and those that compaction has made.
func (v *maintenanceRun) keyIndexes(ctx context.Context) error {
	if !v.table.HasKeyIndexes() {
		return nil
	}
	if ok, err := v.take(ctx); !ok || err != nil {
		return err
	}
	if err := keyIndexes(ctx, v.table); err != nil {
		return fmt.Errorf("key indexes: %w", err)
	}
	return nil
}

// collect deletes what nothing reaches any more, if it is time to. Another collector at work is not a failure, but it may be a dead one,
// whose lease has not ended: the next run tries again.
func (v *maintenanceRun) collect(ctx context.Context) error {
	s, t := v.service, v.table
	if !s.isDue(t.Name(), collecting, v.in.upkeep.collect) {
		return nil
	}
	done, err := t.Collect(ctx, s.collectOptions(v.in.upkeep))
	switch {
	case errors.Is(err, catalog.ErrConflict):
		s.o.Log.Info("garbage could not be collected; retrying later", "table", t.Name(), "reason", err)
		return nil
	case errors.Is(err, catalog.ErrUnsafe): // nothing was deleted; the table's shards are compacted all the same
		v.refused = err.Error()
		s.o.Log.Warn("the collection was refused; nothing was deleted", "table", t.Name(), "error", err)
		s.did(t.Name(), collecting)
		return nil
	}
	if err != nil {
		return fmt.Errorf("collect: %w", err)
	}
	v.run.ObjectsMarked, v.run.ObjectsDeleted = len(done.Mark), done.Deleted
	s.did(t.Name(), collecting)
	return nil
}

// collectOptions are those of a collection: what the settings leave open is the service's.
func (s *Service) collectOptions(u upkeep) catalog.CollectOptions {
	o := s.o.Collect
	o.Execute, o.MinAge, o.DeleteDelay = true, cmp.Or(u.minAge, o.MinAge), cmp.Or(u.deleteDelay, o.DeleteDelay)
	o.MaxDeleteRatio = cmp.Or(u.ratio, o.MaxDeleteRatio, defaultCollectRatio)
	return o
}

// quarantines reports whether the run put groups into quarantine that were not there.
func (r *Run) quarantines() bool {
	return slices.ContainsFunc(r.Failed, func(f Failure) bool { return f.Times == 1 })
}
