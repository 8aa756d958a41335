package compaction

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/manifest"
)

// Step is how far a job has come: the step that it is at.
type Step string

// The steps, in their order. A Plan comes before them.
const (
	stepWrite    Step = "write"
	stepReadBack Step = "read back"
	stepCommit   Step = "commit"
	stepDone     Step = "done"
)

// Job is the work of one group in steps: Begin, Write, ReadBack, Commit. Each step that was done is passed over when it is requested again,
// by this process or, after Resume, by another. A step that fails ends the job and leaves nothing behind: what the job created
// is deleted, or, where another process may have taken it up, left to it. A Job is for one goroutine.
//
//	Begin     a record in the vault folder names inputs and outputs; from here on a collection spares both
//	Write     new objects: a root, an object of packed stripes, or shards of rewritten rows
//	ReadBack  what came back from the store has the records of the inputs, with Options.Check the same values
//	Commit    one snapshot; the record is closed
type Job struct {
	table  *catalog.Table
	group  *Group
	policy Policy
	o      Options
	// run is the record, nil if the job had been committed before it was begun.
	run  *catalog.Job
	step Step
	// objects are what the job has created, as far as they may be deleted by name; entries are to be committed.
	objects []string
	// indexes are the objects of merged indexes.
	indexes []string
	entries []*manifest.Entry
	result  Result
	// taken: another process began the job, which stays open for the next one if this one fails.
	taken bool
}

// Begin records the job of a group. A job with Options.JobID that was begun before is taken up where it stands: after the commit, if that
// was made, and before ReadBack, if all objects are written.
func Begin(ctx context.Context, t *catalog.Table, g *Group, policy Policy, o Options) (*Job, error) {
	j := &Job{table: t, group: g, policy: policy.withDefaults(), o: o}
	return j, j.begin(ctx)
}

func (j *Job) begin(ctx context.Context) (err error) {
	if j.o.JobID != "" {
		if taken, err := j.takeUp(ctx); taken || err != nil {
			return err
		}
	}
	t, g := j.table, j.group
	run, before, err := t.BeginJob(ctx, catalog.JobCompact, j.o.JobID, g.Inputs.Paths(), func(attempt string) []string {
		root := t.VaultFolder() + attempt + ".amudai.shard"
		switch g.Mode {
		case Rebuild:
			return t.Outputs(attempt)
		case Pack:
			return []string{root, t.VaultFolder() + "data/" + attempt + "/packed.amudai.stripe"}
		}
		return []string{root}
	})
	switch {
	case err != nil:
		return err
	case before != nil:
		j.result, j.step = Result{Mode: g.Mode, SnapshotID: before.SnapshotID, JobID: j.o.JobID, Before: true}, stepDone
		return nil
	}
	j.run, j.step = run, stepWrite
	j.result = Result{Mode: g.Mode, Inputs: g.Inputs.Len(), Records: g.Records, JobID: run.ID()}
	if g.Mode != Rebuild {
		j.objects = run.Outputs()
	}
	j.tell(0)
	return nil
}

// Name is the name of the job's record, for Resume; empty if the job was committed before it was begun.
func (j *Job) Name() string {
	if j.run == nil {
		return ""
	}
	return j.run.Name()
}

// Write creates the job's objects. A concatenation that the inputs' schemas don't allow becomes a rebuild, with a record of
// its own, if the policy allows one; else it is ErrNeedsRebuild.
func (j *Job) Write(ctx context.Context) error {
	if j.step != stepWrite {
		return nil
	}
	ctx, end := j.o.span(ctx, string(stepWrite), j.attributes()...)
	err := j.write(ctx)
	end(err)
	if errors.Is(err, ErrNeedsRebuild) && j.group.Mode != Rebuild && !j.policy.NoRebuild {
		j.Cancel(ctx)
		if j.o.room != nil && !j.o.room(j.group.Bytes) {
			return fmt.Errorf("%w, which moves %d bytes, more than the rest of max-bytes-per-run", err, j.group.Bytes)
		}
		if j.group.Mode, j.group.BytesMoved = Rebuild, j.group.Bytes; j.o.JobID != "" {
			j.o.JobID += "-rebuild" // the first attempt has used up the id
		}
		if err := j.begin(ctx); err != nil {
			return err
		}
		return j.Write(ctx)
	}
	return j.next(ctx, stepReadBack, err)
}

func (j *Job) write(ctx context.Context) error {
	g := j.group
	switch {
	case g.Mode == Rebuild && g.SmallStripes:
		return j.writeStripes(ctx)
	case g.Mode == Rebuild:
		return j.writeRows(ctx, nil)
	}
	out, packed := j.objects[0], j.objects[len(j.objects)-1]
	e, err := j.concatenated(ctx, out, packed)
	j.entries = []*manifest.Entry{e}
	return err
}

// writeRows writes rows of the inputs again: those of some stripes, or all.
func (j *Job) writeRows(ctx context.Context, stripes map[string][]int) error {
	written, err := rebuilt(ctx, j, stripes)
	j.objects, j.entries, j.result.BytesMoved = written.Objects, written.Entries, j.group.BytesMoved
	if all := j.group.Records; stripes != nil && all > 0 {
		j.result.BytesMoved = int64(float64(j.group.Bytes) * float64(written.Rows) / float64(all))
	}
	return err
}

// ReadBack compares what the store gives back with the inputs: the number of records, and with Options.Check the values. A difference is
// ErrContent.
func (j *Job) ReadBack(ctx context.Context) error {
	if j.step != stepReadBack {
		return nil
	}
	ctx, end := j.o.span(ctx, string(stepReadBack), j.attributes()...)
	err := j.compare(ctx)
	end(err)
	return j.next(ctx, stepCommit, err)
}

func (j *Job) compare(ctx context.Context) error {
	var records int64
	for _, e := range j.entries {
		records += e.Records
		j.result.Output = e.Path
	}
	if records != j.group.Records {
		return fmt.Errorf("%w: %s and %s have %s, their output (%s) has %d",
			ErrContent, j.group.Inputs.Paths()[0], plural.Count(j.group.Inputs.Len()-1, "other"), plural.Count(j.group.Records, "live record"), j.result.Output, records)
	}
	if j.o.Check {
		return checkContent(ctx, j.table, j.group, j.entries)
	}
	return nil
}

// Commit puts what was written in the place of the inputs. If an input is no longer live the error is catalog.ErrConflict; if Options.Fence
// finds that the lease is lost, catalog.ErrLeaseLost.
func (j *Job) Commit(ctx context.Context) (*Result, error) {
	if j.step == stepCommit {
		ctx, end := j.o.span(ctx, string(stepCommit), j.attributes()...)
		err := j.commit(ctx)
		end(err)
		if err := j.next(ctx, stepDone, err); err != nil {
			return nil, err
		}
		j.tell(j.group.Records)
	}
	if j.step != stepDone {
		return nil, fmt.Errorf("%w: the job is in state %q", catalog.ErrInvalid, j.step)
	}
	return &j.result, nil
}

func (j *Job) commit(ctx context.Context) error {
	if j.o.Fence != nil {
		if err := j.o.Fence(ctx); err != nil {
			return err
		}
	}
	committed, err := j.run.Replace(ctx, j.group.Inputs.Paths(), j.entries)
	if err != nil {
		return err
	}
	j.result.SnapshotID, j.result.Before = committed.SnapshotID, committed.Before
	return nil
}

// Cancel ends a job before its commit and deletes what it created; after the commit it does nothing. A job that was taken up stays open.
func (j *Job) Cancel(ctx context.Context) {
	if j.step == stepDone || j.step == "" {
		return
	}
	if j.step = ""; !j.taken {
		j.run.Fail(ctx, append(j.objects, j.indexes...))
	}
}

// next is where a step leads to.
func (j *Job) next(ctx context.Context, to Step, err error) error {
	log := j.o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if err != nil {
		log.Warn("a job ended without a commit", "job", j.result.JobID, "table", j.table.Name(), "step", j.step, "mode", j.group.Mode, "error", err)
		j.Cancel(ctx)
		return err
	}
	if j.step = to; to != stepDone {
		j.tell(0)
		return nil
	}
	log.Info("a job is done", "job", j.result.JobID, "table", j.table.Name(), "mode", j.group.Mode, "inputs", j.group.Inputs.Len(),
		"bytes_moved", j.result.BytesMoved, "snapshot", j.result.SnapshotID, "resumed", j.taken)
	return nil
}

// tell reports progress.
func (j *Job) tell(records int64) {
	if j.o.Progress != nil {
		j.o.Progress(Progress{Step: j.step, JobID: j.result.JobID, Groups: 1, Records: j.group.Records, RecordsDone: records})
	}
}

// takeUp looks for an open run of the same job over the same inputs that has written all its objects.
func (j *Job) takeUp(ctx context.Context) (bool, error) {
	runs, err := j.table.OpenRuns(ctx, j.o.JobID)
	if err != nil {
		return false, err
	}
	inputs := j.group.Inputs.Paths()
	for _, run := range runs {
		if !slices.Equal(run.Inputs, inputs) {
			continue
		}
		resumed, err := Resume(ctx, j.table, run.Name(), j.policy, j.o)
		switch {
		case err == nil:
			*j = *resumed
			return true, nil
		case !errors.Is(err, catalog.ErrNotWritten) && !errors.Is(err, catalog.ErrConflict) && !errors.Is(err, catalog.ErrNotFound):
			return false, err
		}
	}
	return false, nil
}

// Resume takes up the job whose record has a name, which another process began and may have left. A job that was committed is at
// its end. One that has written all its objects is before ReadBack; from then on they are deleted by nobody but a collection. One that has not is
// catalog.ErrNotWritten: a collection will take what there is, and the group is begun again. One that is closed is catalog.ErrNotFound; one
// whose inputs another writer took is closed and is catalog.ErrConflict.
func Resume(ctx context.Context, t *catalog.Table, name string, policy Policy, o Options) (*Job, error) {
	run, before, err := t.ResumeJob(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case before != nil:
		id, _, _ := strings.Cut(name, ".")
		return &Job{table: t, group: &Group{}, step: stepDone, o: o, result: Result{JobID: id, SnapshotID: before.SnapshotID, Before: true}}, nil
	}
	g, err := GroupOf(ctx, t, run.Inputs())
	if err != nil {
		if errors.Is(err, catalog.ErrConflict) {
			run.Fail(ctx, nil)
		}
		return nil, err
	}
	if g.Mode = Concat; strings.HasSuffix(run.Outputs()[0], "*") {
		g.Mode = Rebuild
	} else if len(run.Outputs()) > 1 {
		g.Mode = Pack
	}
	j := &Job{table: t, group: g, policy: policy.withDefaults(), o: o, run: run, step: stepReadBack, taken: true}
	j.result = Result{Mode: g.Mode, Inputs: g.Inputs.Len(), Records: g.Records, JobID: run.ID()}
	if g.Mode != Concat {
		j.result.BytesMoved = g.Bytes // at most: what a pack left where it was is not known any more
	}
	return j, j.findWritten(ctx)
}

// findWritten describes what an earlier process wrote.
func (j *Job) findWritten(ctx context.Context) (err error) {
	if j.entries, err = j.run.Written(ctx); err != nil {
		return err
	}
	var records int64
	for _, e := range j.entries {
		if records += e.Records; j.group.Mode != Rebuild || isKept(e) {
			j.group.place(e)
		} else if err := j.table.PlacePartition(e, j.group.class.specID, j.group.class.partition); err != nil {
			return err
		}
	}
	if len(j.entries) == 0 || j.group.Mode == Rebuild && records < j.group.Records {
		return fmt.Errorf("%w: job %s", catalog.ErrNotWritten, j.run.ID())
	}
	return nil
}

// GroupOf makes a group of shards that the caller chose, by the URLs of their roots, for Begin; its Mode and the costs of the work are not set.
// The error is catalog.ErrConflict if one of them is not live.
func GroupOf(ctx context.Context, t *catalog.Table, inputs []string) (*Group, error) {
	at := make(map[string]int, len(inputs))
	for i, input := range inputs {
		at[input] = i
	}
	g := &Group{Inputs: Inputs{&candidates{vault: t.VaultFolder()}, make([]place, len(inputs))}, Outputs: 1}
	left := len(at)
	for e, err := range t.BriefEntries(ctx, catalog.At{}, nil) {
		if err != nil {
			return nil, err
		}
		i, ok := at[e.Path]
		if !ok {
			continue
		}
		g.Inputs.places[i] = g.Inputs.kept.add(e)
		g.Records, g.Bytes = g.Records+e.Records, g.Bytes+e.StoredBytes
		if g.class == nil {
			g.class = &class{specID: e.SpecID, partition: e.Partition, text: partitionText(e.Partition), deleted: e.Deleted > 0}
		}
		if left--; left == 0 {
			return g, nil
		}
	}
	return nil, fmt.Errorf("%w: %d of the job's %d inputs are no longer live", catalog.ErrConflict, left, len(inputs))
}
