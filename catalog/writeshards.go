package catalog

import (
	"context"
	"errors"
	"fmt"

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
