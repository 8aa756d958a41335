package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/jobrecord"
	"github.com/shardcat/shardcat/manifest"
)

// writtenRun is a run of WriteShards that is to be committed.
type writtenRun struct {
	job    *Job
	record writtenRecord
}

// CommitShards commits what runs of WriteShards wrote, in one snapshot of a branch (main if empty), and ends all other runs of the job. Shards of one
// snapshot are read by the order of their paths, which states nothing of the order of runs. The same job is committed once: Before means that it
// had been, and nothing was added. A run of another job, or one that has ended, is ErrNotFound; two runs of one part are ErrInvalid; a run that
// is being discarded is ErrConflict. Whatever fails, nothing is added.
func (t *Table) CommitShards(ctx context.Context, branch, jobID string, runs []string) (*IngestResult, error) {
	if jobID == "" {
		return nil, fmt.Errorf("%w: missing job id", ErrInvalid)
	}
	if err := t.Refresh(ctx); err != nil {
		return nil, err
	}
	written, err := t.openRuns(ctx, jobID, runs)
	if errors.Is(err, ErrNotFound) {
		if done, findErr := t.alreadyCommitted(ctx, mainAsEmpty(branch), jobID); done != nil && findErr == nil {
			written, err = nil, nil // by this very call before: its runs have ended
		}
	}
	if err != nil {
		return nil, err
	}
	outputs := func(string) []string {
		out := []string{}
		for _, r := range written {
			out = append(out, r.job.record.Outputs...)
		}
		return out
	}
	j, before, err := t.beginJob(ctx, jobStart{branch: branch, kind: JobAppend, id: jobID, outputs: outputs})
	if err != nil {
		return nil, err
	}
	out := &IngestResult{CommitResult: before, Shards: []string{}}
	if before == nil {
		if err := t.commitRuns(ctx, j, written, out); err != nil {
			j.Fail(ctx, nil)
			return nil, err
		}
	}
	t.afterCommit(ctx, jobID, written, out.CommitResult)
	return out, nil
}

// mainAsEmpty is the name of a branch as jobs have it.
func mainAsEmpty(branch string) string {
	if branch == "main" {
		return ""
	}
	return branch
}

// openRuns reads what runs have written.
func (t *Table) openRuns(ctx context.Context, jobID string, names []string) ([]*writtenRun, error) {
	runs := make([]*writtenRun, len(names))
	err := t.cat.client.Each(ctx, len(names), func(ctx context.Context, _ *blobio.Client, i int) (err error) {
		runs[i], err = t.writtenRun(ctx, jobID, names[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	seen, parts := map[string]bool{}, map[string]string{}
	for i, r := range runs {
		other, taken := parts[r.record.Part]
		switch {
		case seen[names[i]]:
			return nil, fmt.Errorf("%w: run %s is given twice", ErrInvalid, names[i])
		case taken && r.record.Part != "":
			return nil, fmt.Errorf("%w: runs %s and %s both wrote part %s: commit one of them", ErrInvalid, other, names[i], r.record.Part)
		}
		seen[names[i]], parts[r.record.Part] = true, names[i]
	}
	return runs, nil
}

// writtenRun reads what a run has written.
func (t *Table) writtenRun(ctx context.Context, jobID, name string) (*writtenRun, error) {
	if name != jobID && !strings.HasPrefix(name, jobID+".") || !validPart(strings.ReplaceAll(name, ".", "-")) {
		return nil, fmt.Errorf("%w: %q is not a run of job %s", ErrInvalid, name, jobID)
	}
	r := &writtenRun{job: &Job{table: t, name: name}}
	err := t.cat.records.Read(ctx, r.job.at(".json"), &r.job.record)
	if err == nil && (r.job.record.Kind != jobWrite || r.job.record.ID != jobID) {
		return nil, fmt.Errorf("%w: %s is not a run of job %s that writes shards", ErrInvalid, name, jobID)
	}
	if err == nil {
		err = t.cat.records.Read(ctx, r.job.at(jobrecord.WrittenSuffix), &r.record)
	}
	if errors.Is(err, blobio.ErrNotFound) {
		return nil, fmt.Errorf("run %s of job %s: %w, or it is incomplete", name, jobID, ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	for i := range r.record.Shards {
		if url := r.record.Shards[i].URL; !jobrecord.Covers(&r.job.record, url) || !t.owns(url) {
			return nil, fmt.Errorf("%w: run %s names %s, which is not one of its outputs", ErrUnsafe, name, url)
		}
	}
	return r, nil
}

// commitRuns claims the runs and commits their shards. The job's own record, which is there before a run is looked at again, keeps their
// objects from a collection that would give up a run from now on.
func (t *Table) commitRuns(ctx context.Context, j *Job, runs []*writtenRun, out *IngestResult) error {
	err := t.cat.client.Each(ctx, len(runs), func(ctx context.Context, _ *blobio.Client, i int) error { return runs[i].take(ctx, j.branch) })
	if err != nil {
		return err
	}
	var shards []*writtenShard
	for _, r := range runs {
		out.IndexBytes += max(0, r.record.IndexBytes)
		for i := range r.record.Shards {
			shards = append(shards, &r.record.Shards[i])
		}
	}
	entries := make([]*manifest.Entry, len(shards))
	err = t.cat.client.Each(ctx, len(shards), func(ctx context.Context, _ *blobio.Client, i int) (err error) {
		entries[i], err = t.describeWritten(ctx, shards[i])
		return err
	})
	if err != nil {
		return err
	}
	for _, e := range entries {
		out.Shards, out.Rows, out.Bytes = append(out.Shards, e.Path), out.Rows+e.Records, out.Bytes+e.StoredBytes
	}
	if len(entries) == 0 {
		out.CommitResult = &CommitResult{SnapshotID: t.head(j.branch)}
		return j.end(ctx, jobrecord.Committed, out.SnapshotID)
	}
	out.CommitResult, err = j.Append(ctx, entries)
	return err
}

// take claims a run for a commit, and refuses one that has ended.
func (r *writtenRun) take(ctx context.Context, branch string) error {
	t, name := r.job.table, r.job.name
	if r.job.record.Ref != branch {
		return fmt.Errorf("%w: run %s wrote for branch %q", ErrInvalid, name, r.job.record.Ref)
	}
	if err := r.job.claim(ctx, jobrecord.ToCommit); err != nil {
		return fmt.Errorf("run %s can't be committed, write it again: %w", name, err)
	}
	ended, err := t.jobFolder().Has(ctx, name, jobrecord.ClosedSuffix)
	if ended {
		return fmt.Errorf("run %s: %w: it has ended and its shards may be deleted; write it again", name, ErrNotFound)
	}
	return err
}

// afterCommit ends the runs of a job that is committed. The commit stands whether or not that can be done: an open run costs space, not data.
func (t *Table) afterCommit(ctx context.Context, jobID string, runs []*writtenRun, done *CommitResult) {
	committed := map[string]bool{}
	for _, r := range runs {
		committed[r.job.name] = !done.Before
	}
	if _, err := t.endRuns(context.WithoutCancel(ctx), jobID, committed, done.SnapshotID); err != nil {
		t.cat.opts.Log.Warn("the job is committed, but some of its runs could not be ended", "job", jobID, "error", err)
	}
}
