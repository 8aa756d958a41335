package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/jobrecord"
	"github.com/shardcat/shardcat/catalog/internal/records"
	"github.com/shardcat/shardcat/internal/parallel"
)

// Kinds of jobs.
const (
	JobAppend   = "append"
	jobRegister = "register"
	JobCompact  = "compact"
	jobPick     = "cherry-pick"
)

// The records of jobs. Their fields: go doc github.com/shardcat/shardcat/catalog/internal/jobrecord.Record
type (
	// JobRecord is the record of a begun job: its inputs, its outputs and where it began.
	JobRecord = jobrecord.Record
	// JobEnd is the record of how a job ended.
	JobEnd = jobrecord.End
	// JobState is what the records of a job prove of it.
	JobState = jobrecord.State
	// InputFile is a file that a job loads: its URL and its size in bytes.
	InputFile = jobrecord.InputFile
)

// jobFolder is where the records of the jobs of a table lie.
func (c *Catalog) jobFolder(uuid string) jobrecord.Folder {
	return jobrecord.Folder{Client: c.client, Records: c.records, URL: c.vaultFolder(uuid) + "_jobs/"}
}

func (t *Table) jobFolder() jobrecord.Folder { return t.cat.jobFolder(t.UUID()) }

// Job is a run of a job that has begun.
type Job struct {
	table  *Table
	record JobRecord
	// name of the record, without the suffix.
	name string
	// branch that the job commits to, "" for main.
	branch string
	// committing: from here on the outcome may be unknown, and nothing the job wrote may be deleted.
	committing bool
	// beside, if not nil, writes what the entries depend on.
	beside *besideManifests
	// recorded is what reading back the record of the job came to; nil if it was read back when it was written. claimed is what the claim of the
	// folder came to; nil if it was claimed before the job began.
	recorded, claimed chan error
	// doubt: a commit was rejected, but not proven not to have happened (see unproven).
	doubt bool
}

// besideManifests writes what entries depend on while manifests are written, and reads it back while they are. Nothing is committed before it
// has ended.
type besideManifests struct {
	write    func(ctx context.Context) error
	readBack func(ctx context.Context, c *blobio.Client) error
}

// maxJobID keeps names of records portable.
const maxJobID = 128

// BeginJob records a job before its first object is written. id is the caller's, who uses it again when the job
// is delivered again; one that no other job has is made if it is empty. If the job was committed before, the result is nil
// and that commit. outputs may name objects by prefix, see JobRecord.
func (t *Table) BeginJob(ctx context.Context, kind, id string, inputs []string, outputs func(attempt string) []string) (*Job, *CommitResult, error) {
	return t.beginJob(ctx, jobStart{kind: kind, id: id, inputs: inputs, outputs: outputs})
}

// jobStart is what BeginJob gets, and the branch that the job is to change, "" for main.
type jobStart struct {
	branch, kind, id string
	inputs           []string
	outputs          func(attempt string) []string
}

// beginJob is BeginJob for a change of any branch.
func (t *Table) beginJob(ctx context.Context, s jobStart) (*Job, *CommitResult, error) {
	id, named := s.id, s.id != ""
	if !named {
		if id = uuid.NewString(); s.kind == JobCompact {
			id = compactionPrefix + id
		}
	}
	if !validPart(id) || len(id) > maxJobID {
		return nil, nil, fmt.Errorf("%w: job id %q: up to %d letters, digits, '_' and '-'", ErrInvalid, id, maxJobID)
	}
	if err := t.within(ctx).checkWritable(); err != nil {
		return nil, nil, err
	}
	branch, err := t.writableBranch(s.branch)
	if err != nil {
		return nil, nil, err
	}
	var claimed chan error
	if !named && s.kind == JobAppend && t.claimedBefore() {
		view, base := *t, t.branch(branch) // a refresh does not change the view
		claimed = t.cat.beside(func(*blobio.Client) error { return view.claim(ctx, base) })
	} else if err := t.claim(ctx, t.branch(branch)); err != nil {
		return nil, nil, err
	}
	if named {
		if done, err := t.deliveredBefore(ctx, branch, id); done != nil || err != nil {
			return nil, done, err
		}
	}
	attempt := uuid.NewString()
	j := &Job{table: t, name: id, branch: branch, claimed: claimed, record: JobRecord{
		Version: records.Version, ID: id, Attempt: attempt, Kind: s.kind, Inputs: s.inputs, Outputs: s.outputs(attempt),
		Base: t.head(branch), Ref: branch, Started: t.cat.opts.Now().UTC(),
		Unnamed: !named,
	}}
	err = j.putRecord(ctx)
	if errors.Is(err, blobio.ErrExists) { // an earlier run of this job, ended or not
		if named { // the store may have denied the record of that run before
			if done, err := t.deliveredBefore(ctx, branch, id); done != nil || err != nil {
				return nil, done, err
			}
		}
		j.name = id + "." + attempt
		err = j.putRecord(ctx)
	}
	if err != nil {
		_ = awaited(claimed, "")
		if ctx.Err() != nil {
			j.endIfBegun(context.WithoutCancel(ctx))
		}
		return nil, nil, fmt.Errorf("job %s: %w", id, err)
	}
	return j, nil, nil
}

// putRecord writes the record of the job. That of an append is read back while its first objects are written: they are too young for
// any collection, and nothing is committed before.
func (j *Job) putRecord(ctx context.Context) error {
	if j.record.Kind != JobAppend {
		return j.table.cat.records.Put(ctx, j.at(".json"), j.record)
	}
	text, err := records.Encode(j.record)
	if err != nil {
		return err
	}
	readBack, err := j.table.cat.client.PutReadBackLater(ctx, j.at(".json"), text)
	if err != nil {
		return err
	}
	j.recorded = j.table.cat.beside(func(client *blobio.Client) error { return readBack(ctx, client) })
	return nil
}

// beside makes requests while others are made. They have ended when the channel gives their outcome.
func (c *Catalog) beside(requests func(*blobio.Client) error) chan error {
	out, fork := make(chan error, 1), c.client.Fork()
	go func() {
		defer fork.Join()
		out <- parallel.Guarded(func() error { return requests(fork.Branch()) })
	}()
	return out
}

// awaitRecord waits until the folder is claimed and the record of the job was read back.
func (j *Job) awaitRecord() error {
	return cmp.Or(awaited(j.claimed, "claim"), awaited(j.recorded, "record of job "+j.record.ID))
}

// awaited waits for the outcome of something, nil for nothing, as often as it is requested.
func awaited(outcome chan error, of string) error {
	if outcome == nil {
		return nil
	}
	err := <-outcome
	outcome <- err
	if err != nil {
		return fmt.Errorf("%s: %w", of, err)
	}
	return nil
}

// endIfBegun ends a job whose begin was cancelled, if its record was written all the same: nothing else came of it, and nobody would take it up.
func (j *Job) endIfBegun(ctx context.Context) {
	var began JobRecord
	if err := j.table.cat.records.Read(ctx, j.at(".json"), &began); err == nil && began.Attempt == j.record.Attempt {
		j.Fail(ctx, nil)
	}
}

func (j *Job) at(suffix string) string { return j.table.jobFolder().URL + j.name + suffix }

// ID of the job; Attempt is random and names this run of it.
func (j *Job) ID() string { return j.record.ID }

// Outputs are the objects that the job reported it writes, as its record names them.
func (j *Job) Outputs() []string { return slices.Clone(j.record.Outputs) }

// Attempt: see ID.
func (j *Job) Attempt() string { return j.record.Attempt }

// deliveredBefore is alreadyCommitted that ends the open runs of a job whose commit is found.
func (t *Table) deliveredBefore(ctx context.Context, branch, id string) (*CommitResult, error) {
	done, err := t.alreadyCommitted(ctx, branch, id)
	if done != nil && err == nil {
		t.closeEarlierRuns(ctx, JobEnd{ID: id, Ref: branch, Outcome: jobrecord.Committed, Snapshot: done.SnapshotID}, "")
	}
	return done, err
}

// alreadyCommitted looks for a commit of the job in the branch's history and, where that was expired, in the
// records of the job's ends. A commit that was rolled back counts as none: its rows are gone.
func (t *Table) alreadyCommitted(ctx context.Context, branch, id string) (*CommitResult, error) {
	if s := t.findJob(branch, id); s != nil {
		return &CommitResult{SnapshotID: s.SnapshotID, Before: true}, nil
	}
	ends, err := t.jobFolder().Ends(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", id, err)
	}
	for _, end := range ends {
		if end.Outcome != jobrecord.Committed || end.Ref != branch || t.ice.Metadata().SnapshotByID(end.Snapshot) != nil {
			continue // a snapshot that is there, but not in the history, was rolled back
		}
		undone, err := t.undone()
		if err != nil {
			return nil, err
		}
		if !slices.Contains(undone, end.Snapshot) {
			return &CommitResult{SnapshotID: end.Snapshot, Before: true}, nil
		}
	}
	return nil, nil
}

// end closes the job, unless another process has: the record reports how it ended, and decides nothing. A job whose outcome is unknown stays open.
// A committed job whose id nobody can deliver again has nothing to be remembered by: its record is deleted instead. A claim stays, for it
// keeps a process that wakes up late from deleting what is live.
func (j *Job) end(ctx context.Context, outcome string, snapshot int64) error {
	_ = j.awaitRecord() // else a damaged record may be written again
	if j.record.Unnamed && outcome == jobrecord.Committed {
		if err := j.table.cat.client.Delete(ctx, j.at(".json"), ""); err != nil && !errors.Is(err, blobio.ErrNotFound) {
			return fmt.Errorf("job %s: %w", j.record.ID, err)
		}
		return nil
	}
	err := j.table.jobFolder().PutEnd(ctx, j.name, &JobEnd{ID: j.record.ID, Attempt: j.record.Attempt, Outcome: outcome, Snapshot: snapshot,
		Ref: j.branch, Closed: j.table.cat.opts.Now().UTC()})
	if err != nil {
		return err
	}
	if j.name != j.record.ID && (outcome == jobrecord.Committed || outcome == jobrecord.Duplicate) && j.record.Kind != JobCompact && j.record.Kind != jobWrite {
		j.table.closeEarlierRuns(ctx, JobEnd{ID: j.record.ID, Ref: j.branch, Outcome: jobrecord.Duplicate, Snapshot: snapshot}, j.name)
	}
	return nil
}

// Fail ends a job that will commit nothing and deletes what it wrote, as far as that is certain to be nobody
// else's: objects are the ones it created. After a commit whose outcome is unknown, and where another process has taken up
// the run, it does nothing.
func (j *Job) Fail(ctx context.Context, objects []string) {
	if j.committing || j.doubt {
		return
	}
	ctx = context.WithoutCancel(ctx)
	if len(objects) > 0 && (j.record.Kind == JobCompact || j.record.Kind == jobWrite) {
		if err := j.claim(ctx, jobrecord.ToDelete); err != nil {
			j.table.cat.opts.Log.Info("the outputs of a failed job remain for the process that resumed it, or for collection", "job", j.record.ID, "reason", err)
			return
		}
	}
	for _, object := range objects {
		if err := j.table.cat.client.Delete(ctx, object, ""); err != nil && !errors.Is(err, blobio.ErrNotFound) {
			j.table.cat.opts.Log.Warn("an object of a failed job remains until collection", "object", object, "error", err)
		}
	}
	if err := j.end(ctx, jobrecord.Failed, 0); err != nil {
		j.table.cat.opts.Log.Warn("the job could not be closed", "error", err)
	}
}

// A process that is killed leaves the record of its run open, and everything it names live. When the job is delivered again and commits, or turns out to be
// committed, the earlier runs end too: their commit is the one that was found, or can no longer succeed, for the branch has moved on and has the job.

// closeEarlierRuns ends, as is stated, the open runs of a job whose commit is known, but for one. What can't be closed stays open, as before.
func (t *Table) closeEarlierRuns(ctx context.Context, as JobEnd, except string) {
	if err := t.closeRuns(context.WithoutCancel(ctx), as, except); err != nil {
		t.cat.opts.Log.Warn("an earlier run of the job could not be closed", "job", as.ID, "error", err)
	}
}

func (t *Table) closeRuns(ctx context.Context, as JobEnd, except string) error {
	folder := t.jobFolder()
	open := map[string]bool{}
	for r, err := range folder.List(ctx, as.ID+".") {
		if err != nil {
			return err
		}
		switch r.Kind {
		case jobrecord.ClosedSuffix:
			open[r.Run] = false
		case "":
			if _, known := open[r.Run]; !known && r.Run != except {
				open[r.Run] = true
			}
		}
	}
	for run, is := range open {
		if !is {
			continue
		}
		var began JobRecord
		err := t.cat.records.Read(ctx, folder.URL+run+jobrecord.BegunSuffix, &began)
		if errors.Is(err, blobio.ErrNotFound) {
			continue // forgotten meanwhile
		}
		if err != nil {
			return err
		}
		switch began.Kind {
		case JobCompact, jobWrite, jobFiles: // whose runs are taken up by others, and ended by them
			continue
		}
		if began.ID != as.ID || began.Ref != as.Ref {
			continue
		}
		earlier := &Job{table: t, record: began, name: run, branch: as.Ref}
		if err := earlier.end(ctx, as.Outcome, as.Snapshot); err != nil {
			return err
		}
	}
	return nil
}
