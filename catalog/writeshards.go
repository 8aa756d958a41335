package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/jobrecord"
	"github.com/shardcat/shardcat/catalog/internal/projection"
	"github.com/shardcat/shardcat/catalog/internal/records"
	"github.com/shardcat/shardcat/catalog/internal/rowsplit"
	"github.com/shardcat/shardcat/manifest"
)

// Engines that write in many processes want what each of them wrote to become part of the table at once. Each process is a run of one job:
// it records the run, writes shards, and then states in _jobs/<run>.written.json that they are all there and what they are. Whoever holds the
// names of the runs commits them, in one snapshot under the job's id. Runs that nobody names, of tasks that failed or were tried twice, end
// with that commit, and what they wrote is deleted. See docs/design/writing-in-tasks.md.

// jobWrite is the kind of a run that writes shards for CommitShards.
const jobWrite = "write"

// WrittenShards is what a run wrote, and what CommitShards knows it by.
type WrittenShards struct {
	JobID string `json:"job_id"`
	// Run names the run, for CommitShards. It is empty if the job was committed before: nothing was written then.
	Run string `json:"run"`
	// Part as it was given.
	Part string `json:"part,omitempty"`
	Rows int64  `json:"rows"`
	// Shards and Bytes were stored; IndexBytes are those of the objects of indexes besides.
	Shards     int   `json:"shards"`
	Bytes      int64 `json:"bytes"`
	IndexBytes int64 `json:"index_bytes,omitempty"`
	// CommitResult is the commit of the job, if it was committed before.
	Committed *CommitResult `json:"committed,omitempty"`
}

// writtenRecord is the content of _jobs/<run>.written.json.
type writtenRecord struct {
	Version int            `json:"version"`
	Part    string         `json:"part,omitempty"`
	Shards  []writtenShard `json:"shards"`
	// IndexBytes are those of the objects of indexes.
	IndexBytes int64 `json:"index_bytes,omitempty"`
}

// writtenShard is what the root of a shard does not tell.
type writtenShard struct {
	URL       string `json:"url"`
	RootBytes int64  `json:"root_bytes"`
	Rows      int64  `json:"rows"`
	SpecID    int    `json:"partition_spec"`
	// Partition is the key of the splitter.
	Partition   string `json:"partition,omitempty"`
	SortOrderID int    `json:"sort_order,omitempty"`
}

// WriteShards writes the records of a source as shards that are not part of the table yet; CommitShards makes them that. o.JobID names the job
// that many runs write for, part, if not empty, what this one writes of it: of runs of one part one can be committed. If it fails, what it
// wrote is deleted again. A run that is never committed is given up by collections as other jobs are.
func (t *Table) WriteShards(ctx context.Context, src RecordSource, part string, o IngestOptions) (*WrittenShards, error) {
	switch {
	case src == nil || src.Schema() == nil:
		return nil, fmt.Errorf("%w: missing source, or a source without a schema", ErrInvalid)
	case o.JobID == "":
		return nil, fmt.Errorf("%w: uncommitted shards need a job id", ErrInvalid)
	case part != "" && !validPart(part):
		return nil, fmt.Errorf("%w: part %q: letters, digits, '_' and '-'", ErrInvalid, part)
	case t.creation != nil:
		return nil, fmt.Errorf("%w: table %s does not exist yet", ErrNotFound, t.name)
	}
	if err := o.refuseKeyed("an uncommitted run"); err != nil {
		return nil, err
	}
	project, err := t.projectSource(src.Schema())
	if err != nil {
		return nil, err
	}
	if err := t.addDefaultIndexes(&o); err != nil {
		return nil, err
	}
	j, before, err := t.beginJob(ctx, jobStart{branch: o.Ref, kind: jobWrite, id: o.JobID, outputs: t.Outputs})
	if before != nil || err != nil {
		return &WrittenShards{JobID: o.JobID, Part: part, Committed: before}, err
	}
	w := newShardWriters(t, j, &o)
	out, err := t.writeRun(ctx, src, project, part, w)
	if err != nil {
		w.abort(ctx)
		j.Fail(ctx, w.objects)
		return nil, err
	}
	return out, nil
}

// writeRun writes the shards of a run, and the record that they are all there.
func (t *Table) writeRun(ctx context.Context, src RecordSource, project *projection.Projection, part string, w *shardWriters) (*WrittenShards, error) {
	out := &WrittenShards{JobID: w.job.ID(), Run: w.job.Name(), Part: part}
	var err error
	if out.Rows, err = w.writeAll(ctx, t.records(ctx, src, project)); err != nil {
		return nil, err
	}
	entries, err := w.close(ctx)
	if err != nil {
		return nil, err
	}
	out.IndexBytes = w.indexBytes
	record := writtenRecord{Version: records.Version, Part: part, Shards: []writtenShard{}, IndexBytes: w.indexBytes}
	for _, e := range entries {
		out.Shards, out.Bytes = out.Shards+1, out.Bytes+e.StoredBytes
		record.Shards = append(record.Shards, writtenShard{
			URL: e.Path, RootBytes: e.RootBytes, Rows: e.Records, SpecID: e.SpecID, Partition: w.partitions[e.Path], SortOrderID: e.SortOrderID,
		})
	}
	if err := t.cat.records.Put(ctx, w.job.at(jobrecord.WrittenSuffix), record); err != nil {
		return nil, fmt.Errorf("job %s: %w", w.job.ID(), err)
	}
	// Who discarded the run while it wrote has not seen all that it wrote.
	ended, err := t.jobFolder().Has(ctx, w.job.name, jobrecord.ClosedSuffix)
	if err == nil && ended {
		err = fmt.Errorf("%w: run %s was ended while writing", ErrConflict, w.job.Name())
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// DiscardShards ends the open runs of a job whose shards are not committed, and deletes what they wrote. It gives their number. What is under
// way of the job can't be committed afterwards; a run that begins later can.
func (t *Table) DiscardShards(ctx context.Context, jobID string) (int, error) {
	if !validPart(jobID) {
		return 0, fmt.Errorf("%w: job id %q", ErrInvalid, jobID)
	}
	if err := t.Refresh(ctx); err != nil {
		return 0, err
	}
	return t.endRuns(ctx, jobID, nil, 0)
}

// endRuns ends the open runs of a job: those that snapshot committed, and all others, whose objects go unless another process has claimed
// them for a commit. Such a one's objects are collection's business.
func (t *Table) endRuns(ctx context.Context, jobID string, committed map[string]bool, snapshot int64) (discarded int, err error) {
	open, err := t.OpenRuns(ctx, jobID)
	if err != nil {
		return 0, err
	}
	for _, state := range open {
		if state.Kind != jobWrite {
			continue
		}
		run := &Job{table: t, record: state.JobRecord, name: state.Name(), branch: state.Ref}
		if committed[run.name] {
			err = errors.Join(err, run.end(ctx, jobrecord.Committed, snapshot))
			continue
		}
		discarded++
		err = errors.Join(err, run.discard(ctx))
	}
	return discarded, err
}

// discard deletes what a run wrote, unless it was claimed, and ends the run.
func (j *Job) discard(ctx context.Context) error {
	err := j.claim(ctx, jobrecord.ToDelete)
	if errors.Is(err, ErrConflict) {
		return j.end(ctx, jobrecord.Failed, 0)
	}
	if err != nil {
		return err
	}
	objects, err := j.written(ctx)
	if err != nil {
		return err
	}
	return j.endWithout(ctx, objects)
}

// describeWritten makes the entry of a shard of a run.
func (t *Table) describeWritten(ctx context.Context, s *writtenShard) (*manifest.Entry, error) {
	e, err := t.describeOwn(ctx, s.URL, s.RootBytes)
	if err != nil {
		return nil, err
	}
	if e.Records != s.Rows {
		return nil, fmt.Errorf("%s: %d records were written, %d were found", s.URL, s.Rows, e.Records)
	}
	e.SpecID, e.SortOrderID = s.SpecID, s.SortOrderID
	e.Partition, err = rowsplit.OfKey(t.ice.Metadata(), s.SpecID, s.Partition)
	return e, err
}

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
