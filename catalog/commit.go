package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog/internal/commiterr"
	"github.com/shardcat/shardcat/catalog/internal/jobrecord"
	"github.com/shardcat/shardcat/catalog/internal/metadataio"
	"github.com/shardcat/shardcat/catalog/internal/sqlcat"
	"github.com/shardcat/shardcat/internal/parallel"
	"github.com/shardcat/shardcat/manifest"
)

// CommitResult is a change that is part of the table.
type CommitResult struct {
	SnapshotID int64 `json:"snapshot_id"`
	// Before: the job had been committed earlier; nothing was added now.
	Before bool `json:"before,omitempty"`
	// Attempts counts how often the change was staged.
	Attempts int `json:"attempts,omitempty"`
}

// change is what a job commits, besides the snapshot itself.
type change struct {
	manifest.Change
	// properties of the table, to be set in the same commit; computed on each base.
	properties func(current map[string]string) map[string]string
	// validate looks at each base before the change is staged on it.
	validate func(t *Table) error
	// prepare, if not nil, makes the snapshot's change again for each base, of the table as it is then.
	prepare func(ctx context.Context) (manifest.Change, error)
}

// commit commits a job's change and closes the job. The table is at the new state when it returns nil.
func (j *Job) commit(ctx context.Context, c change) (*CommitResult, error) {
	c.JobID = j.record.ID
	j.joinTerms(ctx, c.Add)
	done, err := j.table.attempts(ctx, &jobChange{j, c}, j.record.Kind == JobCompact)
	if err != nil {
		j.failed(err)
		return nil, fmt.Errorf("table %s: %w", j.table.name, err)
	}
	j.ended(ctx, done)
	return done, nil
}

// ended closes a committed job. The commit stands whether or not the record of it can be written; an open job costs space, not data.
func (j *Job) ended(ctx context.Context, done *CommitResult) {
	outcome := jobrecord.Committed
	if done.Before {
		outcome = jobrecord.Duplicate
	}
	if err := j.end(context.WithoutCancel(ctx), outcome, done.SnapshotID); err != nil {
		j.table.cat.opts.Log.Warn("the job is committed, but its record could not be closed", "error", err)
	}
}

// proposal is a change of one job, or of several, that is staged on one head after the other until it is committed.
type proposal interface {
	// jobs are those of the change.
	jobs() []*Job
	// check examines the change on the head of the table before attempt n. A result ends it without a commit.
	check(ctx context.Context, n int) (*CommitResult, error)
	// stage writes the manifests of the change on the head.
	stage(ctx context.Context) (*manifest.Staged, *metadataio.ReadBacks, error)
}

// attempts stages and commits a change on one head after the other.
func (t *Table) attempts(ctx context.Context, p proposal, yields bool) (*CommitResult, error) {
	queued := t.queued(yields)
	defer queued.Leave(ctx)
	for n := 1; ; n++ {
		if err := queued.Await(ctx, n); err != nil {
			return nil, err
		}
		if done, err := p.check(ctx, n); done != nil || err != nil {
			return done, err
		}
		staged, later, err := p.stage(ctx)
		if err != nil {
			t.discard(ctx, staged)
			return nil, err
		}
		jobs := p.jobs()
		for _, j := range jobs {
			j.committing = true
		}
		id := ""
		if len(jobs) == 1 { // of several jobs one alone, committed by another run, is not this change
			id = jobs[0].record.ID
		}
		found, rejected, err := t.try(ctx, staged, later, jobs[0].branch, id)
		switch {
		case err != nil:
			return nil, err
		case found != nil: // by this run, or by another run of the same job
			before := found.SnapshotID != staged.Snapshot.SnapshotID
			return &CommitResult{SnapshotID: found.SnapshotID, Before: before, Attempts: n}, nil
		}
		for _, j := range jobs {
			j.doubt = j.doubt || mayBeCommitted(rejected)
		}
		if n >= t.cat.opts.CommitAttempts {
			return nil, fmt.Errorf("%w: %d attempts were rejected, the last with: %w", ErrConflict, n, rejected)
		}
	}
}

// failed records whether the job may be committed although its commit ended with err.
func (j *Job) failed(err error) { j.committing = j.doubt || mayBeCommitted(err) }

// jobChange is the change of one job.
type jobChange struct {
	*Job
	change change
}

func (c *jobChange) jobs() []*Job { return []*Job{c.Job} }

func (c *jobChange) check(ctx context.Context, n int) (*CommitResult, error) {
	if s := c.table.findJob(c.branch, c.record.ID); s != nil {
		return &CommitResult{SnapshotID: s.SnapshotID, Before: true, Attempts: n - 1}, nil
	}
	if err := c.checkAbandoned(ctx); err != nil {
		return nil, err
	}
	if c.change.prepare != nil {
		prepared, err := c.change.prepare(ctx)
		if err != nil {
			return nil, err
		}
		c.change.Change = prepared
		c.change.JobID = c.record.ID
	}
	return nil, c.table.checkRequired(ctx, c.record.Kind, c.change.Add)
}

func (c *jobChange) stage(ctx context.Context) (*manifest.Staged, *metadataio.ReadBacks, error) {
	return c.Job.stage(ctx, c.change)
}

// stage writes the change's manifests, which are read back later, and meanwhile what its entries depend on. The job's record is read back when it
// returns.
func (j *Job) stage(ctx context.Context, c change) (staged *manifest.Staged, later *metadataio.ReadBacks, err error) {
	beside := j.beside
	j.beside = nil
	view, later := j.table.readingBackLater(ctx)
	if beside != nil {
		later.Add(beside.readBack)
	}
	failed := make(chan error, 1)
	go func() {
		failed <- parallel.Guarded(func() error {
			if beside == nil {
				return nil
			}
			return beside.write(ctx)
		})
	}()
	staged, err = view.stage(j.branch, c)
	err = cmp.Or(<-failed, err)
	return staged, later, cmp.Or(err, j.awaitRecord())
}

// readingBackLater is a view of the table that puts off the reading back of what it writes, and what is to be read back.
func (t *Table) readingBackLater(ctx context.Context) (*Table, *metadataio.ReadBacks) {
	view := *t.within(ctx)
	var later *metadataio.ReadBacks
	if view.fs, later = metadataio.ReadBackLater(view.fs); later == nil {
		later = metadataio.NewReadBacks(view.cat.client)
	}
	return &view, later
}

// stage writes the change's manifests on top of the branch's head.
func (t *Table) stage(branch string, c change) (*manifest.Staged, error) {
	if c.validate != nil {
		if err := c.validate(t); err != nil {
			return &manifest.Staged{}, err
		}
	}
	staged, err := manifest.Stage(manifest.Base{
		Metadata: t.ice.Metadata(), Branch: branch, FS: t.fs, Now: t.cat.opts.Now(),
	}, c.Change)
	if errors.Is(err, manifest.ErrInputGone) {
		return staged, fmt.Errorf("%w: %w", ErrConflict, err)
	}
	if errors.Is(err, manifest.ErrDuplicate) {
		return staged, fmt.Errorf("%w: %w", ErrExists, err)
	}
	if err != nil {
		return staged, err
	}
	set := t.missingSettings()
	if c.properties != nil {
		maps.Copy(set, c.properties(t.ice.Properties()))
	}
	if len(set) > 0 {
		staged.Updates = append(staged.Updates, table.NewSetPropertiesUpdate(set))
	}
	return staged, nil
}

// try sends one staged change until its outcome is known: committed (found is the job's snapshot), rejected (and why; the table is at its new
// state then), or neither (err, see settle).
//
// Nothing is committed before the manifests were read back.
func (t *Table) try(ctx context.Context, staged *manifest.Staged, later *metadataio.ReadBacks, branch, jobID string) (found *table.Snapshot, rejected, err error) {
	if t.creation != nil {
		if err := later.Do(ctx); err != nil {
			t.discard(ctx, staged)
			return nil, nil, err
		}
		return t.tryCreate(ctx, staged, jobID)
	}
	rejected, err = t.settle(ctx, request{
		requirements: staged.Requirements,
		send: func(ctx context.Context) (table.Metadata, string, error) {
			return t.cat.commitTable(ctx, t.name.identifier(), staged, later)
		},
		done: func(meta table.Metadata) bool {
			found = snapshotOfJob(meta, branch, jobID, staged.Snapshot.SnapshotID)
			return found != nil
		},
	})
	if err == nil && rejected != nil || err != nil && !mayBeCommitted(err) {
		t.discardRejected(ctx, staged, cmp.Or(rejected, err))
	}
	return found, rejected, err
}

// snapshotOfJob is the snapshot of a job in the history of a branch, or the snapshot with the given id wherever it is: one that was
// rolled back since it was committed. nil if there is neither. Without a job id only the snapshot's id counts.
func snapshotOfJob(meta table.Metadata, branch, jobID string, id int64) *table.Snapshot {
	if jobID != "" {
		if s := findJob(meta, branch, jobID); s != nil {
			return s
		}
	}
	return meta.SnapshotByID(id)
}

// discardRejected deletes the manifests of a change that was rejected, if the rejection is proven; otherwise they stay,
// some kilobytes that nobody refers to.
func (t *Table) discardRejected(ctx context.Context, staged *manifest.Staged, why error) {
	if !mayBeCommitted(why) {
		t.discard(ctx, staged)
	}
}

// discard deletes manifests that were never sent, or were rejected.
func (t *Table) discard(ctx context.Context, staged *manifest.Staged) {
	for _, f := range staged.Files {
		if err := t.fs.Remove(f); err != nil {
			t.cat.opts.Log.Debug("a manifest of a rejected commit was not deleted", "file", f, "error", err)
		}
	}
}

// head is the snapshot of a branch ("" for main), 0 for none.
func (t *Table) head(branch string) int64 {
	if s := t.branch(branch); s != nil {
		return s.SnapshotID
	}
	return 0
}

func (t *Table) branch(name string) *table.Snapshot {
	return t.ice.Metadata().SnapshotByName(cmp.Or(name, table.MainBranch))
}

// findJob searches a branch's history for the snapshot of a job, nil if it has none.
func (t *Table) findJob(branch, id string) *table.Snapshot {
	return findJob(t.ice.Metadata(), branch, id)
}

func findJob(meta table.Metadata, branch, id string) *table.Snapshot {
	for s := meta.SnapshotByName(cmp.Or(branch, table.MainBranch)); s != nil; {
		if s.Summary != nil {
			for job := range manifest.JobsOf(s.Summary.Properties) {
				if job == id {
					return s
				}
			}
		}
		if s.ParentSnapshotID == nil {
			return nil
		}
		s = meta.SnapshotByID(*s.ParentSnapshotID)
	}
	return nil
}

// commitTable sends a change to the catalog after its manifests were read back: where this process writes the metadata file, at the same
// time.
func (c *Catalog) commitTable(ctx context.Context, ident table.Identifier, staged *manifest.Staged, later *metadataio.ReadBacks) (table.Metadata, string, error) {
	if own, ok := c.ice.(*sqlcat.Tables); ok {
		return own.CommitAfter(ctx, ident, staged.Requirements, staged.Updates, later)
	}
	if err := later.Do(ctx); err != nil {
		return nil, "", commiterr.Unsent(err)
	}
	return c.ice.CommitTable(ctx, ident, staged.Requirements, staged.Updates)
}

// Append commits new entries in one snapshot. Their shards must be complete and lie in the job's outputs; the
// entries carry the table's field ids and partition (see Describe).
func (j *Job) Append(ctx context.Context, entries []*manifest.Entry) (*CommitResult, error) {
	return j.commit(ctx, change{
		Change: manifest.Change{Operation: table.OpAppend, Add: entries},
		validate: func(t *Table) error {
			return j.checkEntries(t, entries)
		},
	})
}

// Replace commits outputs in the place of inputs, in one snapshot that keeps every row. Each input must still be
// live when the commit is made; if one is not, another writer won: ErrConflict, and the table is as it was.
func (j *Job) Replace(ctx context.Context, inputs []string, outputs []*manifest.Entry) (*CommitResult, error) {
	return j.commit(ctx, change{
		Change: manifest.Change{Operation: table.OpReplace, Add: outputs, Remove: inputs},
		validate: func(t *Table) error {
			return j.checkEntries(t, outputs)
		},
	})
}

// checkEntries refuses entries that the job's record does not cover, and partitions of a spec that the table no
// longer knows.
func (j *Job) checkEntries(t *Table, entries []*manifest.Entry) error {
	for _, e := range entries {
		if !jobrecord.Covers(&j.record, e.Path) {
			return fmt.Errorf("%w: %s is not among the outputs of job %s", ErrUnsafe, e.Path, j.record.ID)
		}
		if t.ice.Metadata().PartitionSpecByID(e.SpecID) == nil {
			return fmt.Errorf("%w: the table has no partition spec %d", ErrConflict, e.SpecID)
		}
	}
	return nil
}
