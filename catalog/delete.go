package catalog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/backoff"
	"github.com/shardcat/shardcat/catalog/internal/jobrecord"
	"github.com/shardcat/shardcat/catalog/internal/projection"
	"github.com/shardcat/shardcat/catalog/internal/tablescan"
	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/merge"
)

// Kinds of jobs that take rows away.
const (
	jobDelete    = "delete"
	jobOverwrite = "overwrite"
	jobTruncate  = "truncate"
	jobRetention = "retention"
)

// DeleteOptions of Delete, Truncate and ApplyRetention. The zero value is valid.
type DeleteOptions struct {
	// JobID names the delivery, see BeginJob.
	JobID string
	// DryRun finds what matches and changes nothing.
	DryRun bool
	// Progress, if not nil, is called with the number of shards checked, and the total.
	Progress func(done, total int)
}

// DeleteResult is what a deletion did, or would do.
type DeleteResult struct {
	*CommitResult
	DryRun bool `json:"dry_run,omitempty"`
	// Rows that went.
	Rows int64 `json:"rows"`
	// ShardsRemoved went whole, ShardsMarked got a new root with a marker field, ShardsOpened had to be opened
	// to find out.
	ShardsRemoved int `json:"shards_removed"`
	ShardsMarked  int `json:"shards_marked"`
	ShardsOpened  int `json:"shards_opened"`
	// BytesWritten are those of new roots and markers; data is left where it is.
	BytesWritten int64 `json:"bytes_written"`
}

// Delete takes away the rows for which a filter is true, in one snapshot. Shards whose statistics prove that all
// their rows match go out without being opened; of the others a new root is written, with a marker field that
// lists which records are deleted, and their data stays where it is.
//
// Rows that another writer adds meanwhile stay: the deletion took place before them. Where another writer has
// replaced a shard meanwhile (a compaction, another deletion) the rows are looked for again; ErrConflict after
// several tries.
func (t *Table) Delete(ctx context.Context, where filter.Expr, o DeleteOptions) (*DeleteResult, error) {
	if where == nil {
		return nil, fmt.Errorf("%w: a deletion needs a filter; Truncate deletes all rows", ErrInvalid)
	}
	return t.takeAway(ctx, jobDelete, o, func(ctx context.Context) ([]tablescan.Match, error) { return t.match(ctx, where, o.Progress) })
}

// Truncate takes away all rows, in one snapshot. No shard is opened.
func (t *Table) Truncate(ctx context.Context, o DeleteOptions) (*DeleteResult, error) {
	return t.takeWhole(ctx, jobTruncate, o, func(*manifest.Entry) bool { return true })
}

// takeWhole takes away the live shards that go by their entries alone. A dry run keeps nothing of them.
func (t *Table) takeWhole(ctx context.Context, kind string, o DeleteOptions, goes func(*manifest.Entry) bool) (*DeleteResult, error) {
	if !o.DryRun {
		return t.takeAway(ctx, kind, o, func(ctx context.Context) ([]tablescan.Match, error) { return t.wholeShards(ctx, goes) })
	}
	out := &DeleteResult{CommitResult: &CommitResult{SnapshotID: t.Head()}, DryRun: true}
	for e, err := range t.BriefEntries(ctx, At{}, nil) {
		if err != nil {
			return nil, err
		}
		if goes(e) {
			out.count(&tablescan.Match{Rows: e.Records, Whole: true})
		}
	}
	return out, nil
}

// wholeShards matches live shards by their entries alone, and keeps their paths.
func (t *Table) wholeShards(ctx context.Context, goes func(*manifest.Entry) bool) (out []tablescan.Match, err error) {
	for e, err := range t.BriefEntries(ctx, At{}, nil) {
		if err != nil {
			return nil, err
		}
		if goes(e) {
			out = append(out, tablescan.Match{Path: e.Path, Rows: e.Records, Whole: true})
		}
	}
	return out, nil
}

// match finds the shards with rows that a filter selects.
func (t *Table) match(ctx context.Context, where filter.Expr, progress func(done, total int)) ([]tablescan.Match, error) {
	p, err := t.Plan(ctx, ScanOptions{Where: where, Select: []string{}})
	if err != nil {
		return nil, err
	}
	return tablescan.Matches(ctx, p, progress)
}

// takeAway runs a whole deletion.
func (t *Table) takeAway(ctx context.Context, kind string, o DeleteOptions, find func(context.Context) ([]tablescan.Match, error)) (*DeleteResult, error) {
	if o.DryRun {
		found, err := find(ctx)
		if err != nil {
			return nil, err
		}
		out := &DeleteResult{CommitResult: &CommitResult{SnapshotID: t.Head()}, DryRun: true}
		out.countAll(found)
		return out, nil
	}
	j, before, err := t.BeginJob(ctx, kind, o.JobID, nil, t.Outputs)
	if before != nil || err != nil {
		return &DeleteResult{CommitResult: before}, err
	}
	r := &removal{job: j, find: find}
	out, err := r.run(ctx)
	if err != nil {
		j.Fail(ctx, r.objects)
		return nil, err
	}
	return out, nil
}

// removal is a job that takes rows away and may add shards in the same snapshot.
type removal struct {
	job  *Job
	find func(context.Context) ([]tablescan.Match, error)
	// add are entries of new rows.
	add []*manifest.Entry
	// objects that were written.
	objects []string
	count   int
	written int64
}

// maxSearches bounds how often rows are looked for again because another writer replaced their shards.
const maxSearches = 8

// run finds, marks and commits, again where another writer replaced what was found.
func (r *removal) run(ctx context.Context) (*DeleteResult, error) {
	t := r.job.table
	for n := 1; ; n++ {
		found, err := r.find(ctx)
		if err != nil {
			return nil, err
		}
		out, err := r.commit(ctx, found)
		if err == nil || !errors.Is(err, manifest.ErrInputGone) || n == maxSearches {
			return out, err
		}
		if err := backoff.Wait(ctx, backoff.Rejected(n)); err != nil {
			return nil, err
		}
		if err := t.Refresh(ctx); err != nil {
			return nil, err
		}
	}
}

// commit marks the shards that go in part and commits.
func (r *removal) commit(ctx context.Context, found []tablescan.Match) (*DeleteResult, error) {
	out := &DeleteResult{}
	out.countAll(found)
	j := r.job
	if len(found) == 0 && len(r.add) == 0 {
		out.CommitResult = &CommitResult{SnapshotID: j.table.Head()}
		return out, j.end(ctx, jobrecord.Committed, j.table.Head())
	}
	marked, err := r.markAll(ctx, inPart(found, nil))
	if err != nil {
		return nil, err
	}
	add := append(r.add[:len(r.add):len(r.add)], marked...)
	remove := make([]string, len(found))
	for i := range found {
		remove[i] = found[i].Path
	}
	out.BytesWritten = r.written
	out.CommitResult, err = j.commit(ctx, change{
		Change: manifest.Change{
			Operation: table.OpOverwrite, Add: add, Remove: remove,
			Properties: map[string]string{manifest.OperationKey: j.record.Kind},
		},
		validate: func(t *Table) error { return j.checkEntries(t, add) },
	})
	return out, err
}

func (d *DeleteResult) countAll(found []tablescan.Match) {
	for i := range found {
		d.count(&found[i])
	}
}

func (d *DeleteResult) count(m *tablescan.Match) {
	d.Rows += m.Rows
	if m.Whole {
		d.ShardsRemoved++
	} else {
		d.ShardsMarked++
	}
	if m.Opened {
		d.ShardsOpened++
	}
}

// inPart are the shards of which some rows stay, those aside that were marked already.
func inPart(found []tablescan.Match, marked map[string]*manifest.Entry) (out []*tablescan.Match) {
	for i := range found {
		if m := &found[i]; !m.Whole && marked[m.Path] == nil {
			out = append(out, m)
		}
	}
	return out
}

// markAll marks shards, some at a time, and gives their new entries in the same order.
func (r *removal) markAll(ctx context.Context, shards []*tablescan.Match) ([]*manifest.Entry, error) {
	names := make([]string, len(shards))
	for i := range shards {
		r.count++
		names[i] = fmt.Sprintf("%s-d%04d", r.job.Attempt(), r.count)
		r.objects = append(r.objects, r.markerOf(names[i]), r.rootOf(names[i])) // before any of them is written
	}
	entries, written := make([]*manifest.Entry, len(shards)), make([]int64, len(shards))
	err := r.job.table.cat.client.Each(ctx, len(shards), func(ctx context.Context, client *blobio.Client, i int) (err error) {
		entries[i], written[i], err = r.mark(ctx, client, shards[i], names[i])
		return err
	})
	for _, n := range written {
		r.written += n
	}
	return entries, err
}

// rootOf and markerOf are the objects of a shard's new root and of its markers.
func (r *removal) rootOf(name string) string {
	return r.job.table.VaultFolder() + name + ".amudai.shard"
}

func (r *removal) markerOf(name string) string {
	return r.job.table.VaultFolder() + "data/" + name + "/deleted.amudai.stripe"
}

// mark writes the new root of a shard and gives its entry, and how many bytes were written.
func (r *removal) mark(ctx context.Context, client *blobio.Client, m *tablescan.Match, name string) (*manifest.Entry, int64, error) {
	t, in := r.job.table, m.Entry
	input, o, err := t.succession(ctx, in)
	if err != nil {
		return nil, 0, err
	}
	done, err := merge.DeleteRecords(ctx, client, r.rootOf(name), input, merge.Deletion{Stripes: m.Stripes, Object: r.markerOf(name), Options: o})
	if err != nil {
		return nil, 0, err
	}
	e, err := t.successor(ctx, in, done)
	if err != nil {
		return nil, 0, err
	}
	if e.Records != in.Records-m.Rows {
		return nil, 0, fmt.Errorf("%s: %d of %d rows to delete, but %d rows remain", in.Path, m.Rows, in.Records, e.Records)
	}
	return e, done.Size + done.MarkerBytes, nil
}

// RetentionProperty is the table property that determines how long rows are kept after their creation: a number of days
// ("30d") or one of Go's durations ("36h").
const RetentionProperty = "shardcat.retention"

// Retention reads the table's retention; 0 if it has none.
func (t *Table) Retention() (time.Duration, error) {
	d, err := parseRetention(t.Properties()[RetentionProperty])
	if err != nil {
		return 0, fmt.Errorf("table %s: %w", t.name, err)
	}
	return d, nil
}

// parseRetention reads the value of RetentionProperty; "" is 0.
func parseRetention(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := literal.ParseAge(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%w: property %s must be a positive number of days, such as 30d, or a positive duration, such as 36h, not %q", ErrInvalid, RetentionProperty, text)
	}
	return d, nil
}

// ApplyRetention takes away the shards all of whose records were created before the table's retention, in one
// snapshot and without opening them. A shard with one younger record stays whole, and so does one that does not
// report when its records were created. A table without the property is ErrInvalid.
func (t *Table) ApplyRetention(ctx context.Context, o DeleteOptions) (*DeleteResult, error) {
	keep, err := t.Retention()
	if err != nil {
		return nil, err
	}
	if keep == 0 {
		return nil, fmt.Errorf("%w: table %s has no retention; set its property %s, to 30d for instance", ErrInvalid, t.name, RetentionProperty)
	}
	return t.DropOlder(ctx, keep, o)
}

// DropOlder is ApplyRetention with another age than the table's property states.
func (t *Table) DropOlder(ctx context.Context, age time.Duration, o DeleteOptions) (*DeleteResult, error) {
	if age <= 0 {
		return nil, fmt.Errorf("%w: an age of %s would drop every row", ErrInvalid, age)
	}
	cutoff := literal.Ticks(t.cat.opts.Now().Add(-age))
	return t.takeWhole(ctx, jobRetention, o, func(e *manifest.Entry) bool { return e.Created.Known() && e.Created.Last < cutoff })
}

// OverwriteResult is what Overwrite did.
type OverwriteResult struct {
	DeleteResult
	// Shards that were added, with RowsAdded and BytesAdded stored for them; IndexBytes are those of the objects of indexes besides.
	Shards     []string `json:"shards"`
	RowsAdded  int64    `json:"rows_added"`
	BytesAdded int64    `json:"bytes_added"`
	IndexBytes int64    `json:"index_bytes,omitempty"`
}

// Overwrite puts the records of a source in the place of the rows for which a filter is true, in one snapshot: a
// reader sees the old rows or the new ones. What Ingest states about sources holds here, what Delete states about filters
// and of other writers too. The new rows need not match the filter.
func (t *Table) Overwrite(ctx context.Context, where filter.Expr, src RecordSource, o IngestOptions) (*OverwriteResult, error) {
	if where == nil {
		return nil, fmt.Errorf("%w: an overwrite needs a filter", ErrInvalid)
	}
	if err := o.refuseKeyed("an overwrite"); err != nil {
		return nil, err
	}
	project, err := t.projectSource(src.Schema())
	if err != nil {
		return nil, err
	}
	bound, err := tablescan.Bind(where, t.schema)
	if err != nil {
		return nil, err
	}
	if err := t.addDefaultIndexes(&o); err != nil {
		return nil, err
	}
	j, before, err := t.BeginJob(ctx, jobOverwrite, o.JobID, nil, t.Outputs)
	if before != nil || err != nil {
		return &OverwriteResult{DeleteResult: DeleteResult{CommitResult: before}}, err
	}
	w := newShardWriters(t, j, &o)
	r := &removal{job: j, find: func(ctx context.Context) ([]tablescan.Match, error) { return t.match(ctx, bound, nil) }}
	out, err := r.overwrite(ctx, src, project, w)
	if err != nil {
		w.abort(ctx)
		j.Fail(ctx, append(w.objects, r.objects...))
		return nil, err
	}
	return out, nil
}

func (r *removal) overwrite(ctx context.Context, src RecordSource, project *projection.Projection, w *shardWriters) (*OverwriteResult, error) {
	out := &OverwriteResult{}
	var err error
	if out.RowsAdded, err = w.writeAll(ctx, r.job.table.records(ctx, src, project)); err != nil {
		return nil, err
	}
	if r.add, err = w.close(ctx); err != nil {
		return nil, err
	}
	for _, e := range r.add {
		out.Shards, out.BytesAdded = append(out.Shards, e.Path), out.BytesAdded+e.StoredBytes
	}
	out.IndexBytes = w.indexBytes
	deleted, err := r.run(ctx)
	if err != nil {
		return nil, err
	}
	out.DeleteResult = *deleted
	return out, nil
}
