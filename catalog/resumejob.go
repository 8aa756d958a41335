package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/gc"
	"github.com/shardcat/shardcat/catalog/internal/jobrecord"
	"github.com/shardcat/shardcat/catalog/internal/metadataio"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// A run of a compaction whose process was killed may have written all its objects. Another process may commit them, for a commit
// asserts its inputs whoever sends it. What must not happen is that the first process, stopped and not killed, wakes up, finds that
// it has lost its lease, and deletes what is live by then. So who wants to delete objects of such a run, and who wants to commit those of
// another's, first creates _jobs/<name>.claim.json if absent: objects that were claimed once are deleted by collection only.

// claim decides what may become of the objects of a run; ErrConflict if the opposite was decided before.
func (j *Job) claim(ctx context.Context, purpose string) error {
	return j.table.jobFolder().Claim(ctx, j.name, &j.record, purpose)
}

// ErrNotWritten: a job is open, and not all of what it was to write is there.
var ErrNotWritten = errors.New("the job has not written all its objects")

// Name of the run's record, for ResumeJob: its id, with the attempt behind it if the id had been used before.
func (j *Job) Name() string { return j.name }

// OpenRuns lists the runs of a job that are open.
func (t *Table) OpenRuns(ctx context.Context, id string) ([]*JobState, error) {
	open, err := t.jobFolder().States(ctx, id, false)
	return slices.DeleteFunc(open, func(j *JobState) bool { return j.ID != id }), err
}

// compactionPrefix begins the ids of compactions that nobody has named, so that they are found among the records of all jobs without
// listing those: a table that gets a row a minute has a quarter of a million of them (see defaultJobMemory).
const compactionPrefix = "compact-"

// OpenCompactions lists the open compactions that were begun without an id. Its cost depends on how many compactions there were, and not on how many
// jobs; Jobs knows the named ones too.
func (t *Table) OpenCompactions(ctx context.Context) ([]*JobState, error) {
	return t.jobFolder().States(ctx, compactionPrefix, false)
}

// ResumeJob takes up an open run of a compaction that another process began. From then on nobody but a collection deletes what the run wrote.
// If it was committed it is closed, and the result is that commit. A run that was closed without one is ErrNotFound, one whose process is deleting what it
// wrote ErrConflict.
func (t *Table) ResumeJob(ctx context.Context, name string) (*Job, *CommitResult, error) {
	j, err := t.openRun(ctx, name)
	if errors.Is(err, ErrNotFound) {
		end, ended := t.jobFolder().EndOf(ctx, name)
		if ended == nil && (end.Outcome == jobrecord.Committed || end.Outcome == jobrecord.Duplicate) {
			return nil, &CommitResult{SnapshotID: end.Snapshot, Before: true}, nil
		}
		// Who commits a job that nobody has named leaves no record of it.
		if refreshErr := t.Refresh(ctx); refreshErr != nil {
			return nil, nil, refreshErr
		}
		if s := t.findJob("", name); s != nil {
			return nil, &CommitResult{SnapshotID: s.SnapshotID, Before: true}, nil
		}
	}
	if err != nil {
		return nil, nil, err
	}
	if s := t.findJob(j.branch, j.record.ID); s != nil {
		done := &CommitResult{SnapshotID: s.SnapshotID, Before: true}
		return nil, done, j.end(ctx, jobrecord.Committed, s.SnapshotID)
	}
	if err := j.claim(ctx, jobrecord.ToCommit); err != nil {
		return nil, nil, err
	}
	return j, nil, nil
}

// DiscardJob ends an open run whose process is known to have ended, and deletes what it wrote, unless another process has taken it up:
// ErrConflict. A run that is closed is ErrNotFound.
func (t *Table) DiscardJob(ctx context.Context, name string) error {
	j, err := t.openRun(ctx, name)
	if err != nil {
		return err
	}
	if s := t.findJob(j.branch, j.record.ID); s != nil {
		return j.end(ctx, jobrecord.Committed, s.SnapshotID)
	}
	objects, err := j.written(ctx)
	if err != nil {
		return err
	}
	// A run that was committed has an end, which the store may have denied, and its snapshot may have expired.
	if open, err := isGone(ctx, t.cat.client.Uncached(), j.at(jobrecord.ClosedSuffix)); err != nil {
		return err
	} else if !open {
		return fmt.Errorf("job %s: %w: it has ended", name, ErrNotFound)
	}
	if err := t.checkNotLive(ctx, j.branch, objects); err != nil {
		return fmt.Errorf("job %s: %w", name, err)
	}
	if err := j.claim(ctx, jobrecord.ToDelete); err != nil {
		return err
	}
	return j.endWithout(ctx, objects)
}

// endWithout deletes what a run wrote and ends it.
func (j *Job) endWithout(ctx context.Context, objects []blobio.Info) error {
	for _, o := range objects {
		if err := j.table.cat.client.Delete(ctx, o.URL, ""); err != nil && !errors.Is(err, blobio.ErrNotFound) {
			return err
		}
	}
	return j.end(ctx, jobrecord.Failed, 0)
}

// checkNotLive refuses objects of which one is a root of the head of a branch.
func (t *Table) checkNotLive(ctx context.Context, branch string, objects []blobio.Info) error {
	written := map[string]bool{}
	for _, o := range objects {
		written[o.URL] = true
	}
	for e, err := range t.BriefEntries(ctx, At{Ref: branch}, nil) {
		switch {
		case err != nil:
			return err
		case written[metadataio.CanonicalURL(e.Path)]:
			return fmt.Errorf("%w: %s is part of the table", ErrConflict, e.Path)
		}
	}
	return nil
}

func (t *Table) openRun(ctx context.Context, name string) (*Job, error) {
	if !validPart(strings.ReplaceAll(name, ".", "-")) {
		return nil, fmt.Errorf("%w: %q is not a run of a job", ErrInvalid, name)
	}
	j := &Job{table: t, name: name}
	if ended, err := t.jobFolder().Has(ctx, name, jobrecord.ClosedSuffix); err != nil {
		return nil, err
	} else if ended {
		return nil, fmt.Errorf("job %s: %w: it has ended", name, ErrNotFound)
	}
	if err := t.cat.records.Read(ctx, j.at(".json"), &j.record); errors.Is(err, blobio.ErrNotFound) {
		return nil, fmt.Errorf("job %s: %w", name, ErrNotFound)
	} else if err != nil {
		return nil, err
	}
	if j.record.Kind != JobCompact {
		return nil, fmt.Errorf("%w: job %s is of kind %s; only a compaction can be resumed by another process", ErrInvalid, name, j.record.Kind)
	}
	j.branch = j.record.Ref
	// Whether it was committed is checked in the current state of the table: what an old state does not know of may be live.
	return j, t.Refresh(ctx)
}

// Inputs are the roots that the job replaces.
func (j *Job) Inputs() []string { return j.record.Inputs }

// written lists what exists of the job's outputs.
func (j *Job) written(ctx context.Context) (out []blobio.Info, err error) {
	for _, output := range j.record.Outputs {
		if !j.table.owns(output) {
			return nil, fmt.Errorf("%w: job %s has the output %s, which is outside of the table's folder", ErrUnsafe, j.name, output)
		}
		prefix, many := strings.CutSuffix(output, "*")
		for info, err := range j.table.cat.client.List(ctx, prefix) {
			if err != nil {
				return nil, err
			}
			if many || info.URL == output {
				out = append(out, info)
			}
		}
	}
	return out, nil
}

// Written reads back the roots that the job wrote and describes them, as far as they are there. Partition and spec are the caller's to set.
// A root of which a part is missing is ErrNotWritten.
func (j *Job) Written(ctx context.Context) (entries []*manifest.Entry, err error) {
	objects, err := j.written(ctx)
	if err != nil {
		return nil, err
	}
	for _, info := range objects {
		if j.table.swept().KindOf(info.URL) != gc.Root {
			continue
		}
		e, err := j.table.describeOwn(ctx, info.URL, info.Size)
		if errors.Is(err, blobio.ErrNotFound) && !errors.Is(err, corrupt.ErrCorrupt) {
			return nil, fmt.Errorf("%w: %w", ErrNotWritten, err)
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// PlacePartition sets spec and partition of the entry of a shard that was rewritten of rows that all lie in the partition tuple of the spec specID:
// those, if it is the table's current spec, else what the bounds prove of the current one; manifest.ErrPartition if they don't.
func (t *Table) PlacePartition(e *manifest.Entry, specID int, tuple map[int]any) (err error) {
	meta := t.ice.Metadata()
	spec := meta.PartitionSpec()
	if e.SpecID, e.Partition = specID, tuple; spec.ID() != specID {
		e.SpecID = spec.ID()
		e.Partition, err = manifest.PartitionOf(e, spec, meta.CurrentSchema())
	}
	return err
}
