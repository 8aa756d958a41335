package temporal

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/compaction/internal/savedplan"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Activities are the steps of compactions over a catalog. Each may be delivered again, by the same worker or another.
type Activities struct {
	cat *catalog.Catalog
	o   WorkerOptions
}

// Plan plans a table by its policy, after it has finished what processes that died had written, and saves the plan.
func (a *Activities) Plan(ctx context.Context, table string) (*planned, error) {
	ctx, beat := beating(ctx)
	defer beat.stop()
	out := &planned{}
	err := a.onTable(ctx, table, func(t *catalog.Table) error {
		in, err := a.o.Overrides.Effective(ctx, t)
		if err != nil {
			return err
		}
		held, err := compaction.LoadQuarantine(ctx, t, nil)
		if err != nil {
			return err
		}
		resumed, err := compaction.ResumeAll(ctx, t, in.Policy, a.options(beat))
		if err != nil {
			return err
		}
		plan, err := held.Plan(ctx, t, in.Policy)
		if err != nil {
			return err
		}
		saved, err := savedplan.Save(ctx, t, plan, in.Policy)
		if err == nil {
			*out = planned{*saved, len(resumed)}
		}
		return err
	})
	return out, err
}

// Write writes the objects of a group's job, and gives the name of the job's record with the group.
func (a *Activities) Write(ctx context.Context, ref groupRef) (groupRef, error) {
	ctx, beat := beating(ctx)
	defer beat.stop()
	err := a.onTable(ctx, ref.Table, func(t *catalog.Table) error {
		g, policy, err := ref.Plan.Group(ctx, t, ref.Group)
		if err != nil {
			return err
		}
		o := a.options(beat)
		o.JobID = ref.Plan.JobID(ref.Group)
		j, err := compaction.Begin(ctx, t, g, policy, o)
		if err != nil {
			return err
		}
		err = j.Write(ctx)
		ref.Job = j.Name()
		return err
	})
	return ref, err
}

// ReadBack compares what was written with the inputs.
func (a *Activities) ReadBack(ctx context.Context, ref groupRef) error {
	ctx, beat := beating(ctx)
	defer beat.stop()
	return a.onJob(ctx, ref, beat, func(t *catalog.Table, j *compaction.Job) error { return j.ReadBack(ctx) })
}

// Commit commits what was written.
func (a *Activities) Commit(ctx context.Context, ref groupRef) (done groupDone, err error) {
	ctx, beat := beating(ctx)
	defer beat.stop()
	err = a.onJob(ctx, ref, beat, func(t *catalog.Table, j *compaction.Job) error {
		if err := j.ReadBack(ctx); err != nil {
			return err
		}
		result, err := j.Commit(ctx)
		if err == nil {
			done = groupDone{Inputs: result.Inputs, BytesMoved: result.BytesMoved}
		}
		return err
	})
	return done, err
}

// Discard ends a job that will not be committed and deletes what it wrote.
func (a *Activities) Discard(ctx context.Context, ref groupRef) error {
	return a.onTable(ctx, ref.Table, func(t *catalog.Table) error {
		if err := t.DiscardJob(ctx, ref.Job); !errors.Is(err, catalog.ErrNotFound) && !errors.Is(err, catalog.ErrConflict) {
			return err
		}
		return nil // it has ended, or a process has taken it up
	})
}

// Quarantine keeps a group that failed out of plans for a while.
func (a *Activities) Quarantine(ctx context.Context, f failedGroup) error {
	return a.onTable(ctx, f.Table, func(t *catalog.Table) error {
		g, _, err := f.Plan.Group(ctx, t, f.Group)
		if errors.Is(err, catalog.ErrConflict) {
			return nil // its shards are gone
		}
		if err != nil {
			return err
		}
		held, err := compaction.LoadQuarantine(ctx, t, nil)
		if err != nil {
			return err
		}
		return held.Add(ctx, &compaction.Failure{Inputs: g.Inputs.Paths(), Error: f.Reason, Halts: f.Halts})
	})
}

// Finish removes a plan that has run through, and gives the number of live shards.
func (a *Activities) Finish(ctx context.Context, table string, plan savedplan.Plan) (shards int64, err error) {
	err = a.onTable(ctx, table, func(t *catalog.Table) error {
		shards = t.Describe().Shards
		return plan.Remove(ctx, t)
	})
	return shards, err
}

// onJob takes up the job that Write has begun.
func (a *Activities) onJob(ctx context.Context, ref groupRef, beat *heart, do func(*catalog.Table, *compaction.Job) error) error {
	return a.onTable(ctx, ref.Table, func(t *catalog.Table) error {
		in, err := a.o.Overrides.Effective(ctx, t)
		if err != nil {
			return err
		}
		j, err := compaction.Resume(ctx, t, ref.Job, in.Policy, a.options(beat))
		if err != nil {
			return err
		}
		return do(t, j)
	})
}

// damageAttempts is how often a step reads before damage counts: a bit may have flipped on the way, or in a cache.
const damageAttempts = 3

// onTable loads the table again for each step, and sorts errors into those that are worth another try and those that aren't.
func (a *Activities) onTable(ctx context.Context, table string, do func(*catalog.Table) error) error {
	name, err := catalog.ParseName(table)
	if err != nil {
		return temporal.NewNonRetryableApplicationError(err.Error(), failedError, err)
	}
	t, err := a.cat.Load(ctx, name)
	if err == nil {
		err = do(t)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, catalog.ErrConflict), errors.Is(err, catalog.ErrNotWritten):
		return temporal.NewNonRetryableApplicationError(err.Error(), conflictError, err)
	case compaction.Halts(err) && !(errors.Is(err, corrupt.ErrCorrupt) && activity.GetInfo(ctx).Attempt < damageAttempts):
		return temporal.NewNonRetryableApplicationError(err.Error(), haltError, err)
	case errors.Is(err, catalog.ErrNotFound), errors.Is(err, compaction.ErrPolicy), errors.Is(err, compaction.ErrNeedsRebuild):
		return temporal.NewNonRetryableApplicationError(err.Error(), failedError, err)
	}
	return fmt.Errorf("table %s: %w", table, err)
}

func (a *Activities) options(beat *heart) compaction.Options {
	return compaction.Options{Check: a.o.Check, Log: a.o.Log, Tracer: a.o.Tracer, Progress: beat.progress}
}
