package compaction

import (
	"context"
	"errors"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/manifest"
)

// ResumeAll commits what earlier processes wrote for a table and did not live to commit. Jobs that are still being written, by
// another process or by one that died, are passed over; a collection takes what the dead ones left.
func ResumeAll(ctx context.Context, t *catalog.Table, policy Policy, o Options) ([]Result, error) {
	open, err := t.Jobs(ctx, false)
	if err != nil {
		return nil, err
	}
	return resumeEach(ctx, t, open, policy, o)
}

// resumeUnnamed is ResumeAll of the runs that services and others begin without a name. It doesn't list the table's other jobs.
func resumeUnnamed(ctx context.Context, t *catalog.Table, policy Policy, o Options) ([]Result, error) {
	open, err := t.OpenCompactions(ctx)
	if err != nil {
		return nil, err
	}
	return resumeEach(ctx, t, open, policy, o)
}

func resumeEach(ctx context.Context, t *catalog.Table, open []*catalog.JobState, policy Policy, o Options) ([]Result, error) {
	var done []Result
	for _, state := range open {
		if state.Kind != catalog.JobCompact || state.Ref != "" {
			continue
		}
		result, err := resume(ctx, t, state.Name(), policy, o)
		switch {
		case passable(err):
			continue
		case err != nil:
			return done, err
		}
		done = append(done, *result)
	}
	return done, nil
}

// passable reports whether an error means that a job is no longer, or not yet, to be resumed.
func passable(err error) bool {
	return errors.Is(err, catalog.ErrNotWritten) || errors.Is(err, catalog.ErrNotFound) || errors.Is(err, catalog.ErrConflict) ||
		errors.Is(err, manifest.ErrPartition)
}

func resume(ctx context.Context, t *catalog.Table, name string, policy Policy, o Options) (*Result, error) {
	j, err := Resume(ctx, t, name, policy, o)
	if err != nil {
		return nil, err
	}
	if err := j.ReadBack(ctx); err != nil {
		return nil, err
	}
	return j.Commit(ctx)
}
