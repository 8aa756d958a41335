package catalog

import (
	"context"
	"fmt"

	"github.com/shardcat/shardcat/catalog/internal/projection"
	"github.com/shardcat/shardcat/catalog/internal/tablescan"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

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
