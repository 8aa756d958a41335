package catalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog/internal/jobrecord"
	"github.com/shardcat/shardcat/catalog/internal/keysearch"
	"github.com/shardcat/shardcat/catalog/internal/projection"
	"github.com/shardcat/shardcat/catalog/internal/rowkey"
	"github.com/shardcat/shardcat/manifest"
)

// jobUpsert is the kind of a job that adds rows in the place of those with the same keys, or refuses rows whose keys are there.
const jobUpsert = "upsert"

// keyed reports whether an ingestion looks at keys.
func (o *IngestOptions) keyed() bool { return len(o.UpsertBy)+len(o.Unique) > 0 }

// refuseKeyed refuses the options of an upsert where they mean nothing.
func (o *IngestOptions) refuseKeyed(what string) error {
	if !o.keyed() {
		return nil
	}
	return fmt.Errorf("%w: %s does not support UpsertBy and Unique", ErrInvalid, what)
}

// keyOf is the key that the options name.
func (t *Table) keyOf(o *IngestOptions) (*rowkey.Key, error) {
	if len(o.UpsertBy) > 0 && len(o.Unique) > 0 {
		return nil, fmt.Errorf("%w: UpsertBy and Unique exclude each other", ErrInvalid)
	}
	return t.newRowKey(append(o.UpsertBy[:len(o.UpsertBy):len(o.UpsertBy)], o.Unique...))
}

// upsert is a job that adds a delivery whose keys it has looked for.
type upsert struct {
	removal
	search *keysearch.Search
	// marked are the entries that take the place of shards in which rows were found, by the paths of these.
	marked map[string]*manifest.Entry
	done   DeleteResult
}

// ingestKeyed is Ingest for a delivery of which each key is in the table once afterwards.
func (t *Table) ingestKeyed(ctx context.Context, src RecordSource, project *projection.Projection, o IngestOptions) (*IngestResult, error) {
	key, err := t.keyOf(&o)
	if err != nil {
		return nil, err
	}
	j, before, err := t.beginJob(ctx, jobStart{branch: o.Ref, kind: jobUpsert, id: o.JobID, outputs: t.Outputs})
	if before != nil || err != nil {
		return &IngestResult{CommitResult: before, Shards: []string{}}, err
	}
	w := newShardWriters(t, j, &o)
	u := &upsert{removal: removal{job: j}, marked: map[string]*manifest.Entry{}}
	out, err := u.ingest(ctx, src, project, key, w)
	if err != nil {
		w.abort(ctx)
		j.Fail(ctx, append(w.objects, u.objects...))
		return nil, err
	}
	return out, nil
}

func (u *upsert) ingest(ctx context.Context, src RecordSource, project *projection.Projection, key *rowkey.Key, w *shardWriters) (_ *IngestResult, err error) {
	t := w.table
	unique := len(w.options.Unique) > 0
	d, err := t.gather(ctx, src, project, key, unique)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	u.search = &keysearch.Search{Key: key, Keys: &d.keys}
	if unique {
		u.search.Refuse = func(row int64, key []byte) error {
			return fmt.Errorf("%w: %s has a key that the table has: %s", ErrExists, d.rowName(row), u.search.Key.Text(key))
		}
		if _, err := u.job.table.rowsOfKeys(ctx, u.job.branch, u.search); err != nil { // before anything is written
			return nil, err
		}
	}
	out := &IngestResult{Shards: []string{}, Superseded: d.dropped}
	if out.Rows, err = w.writeAll(ctx, t.inOrder(ctx, d.lasting(ctx))); err != nil {
		return nil, err
	}
	if u.add, err = w.close(ctx); err != nil {
		return nil, err
	}
	for _, e := range u.add {
		out.Shards, out.Bytes = append(out.Shards, e.Path), out.Bytes+e.StoredBytes
	}
	if len(u.add) == 0 {
		out.CommitResult = &CommitResult{SnapshotID: t.head(w.job.branch)}
		return out, w.job.end(ctx, jobrecord.Committed, out.SnapshotID)
	}
	out.CommitResult, err = w.job.commit(ctx, change{Change: manifest.Change{Add: u.add}, prepare: u.prepare})
	out.Replaced, out.IndexBytes = u.done.Rows, w.indexBytes
	return out, err
}

// prepare makes the change on the head as it is: of shards that are there since the last time the rows are looked for, and all others stay
// as they were found. So no other writer's row of a key goes unseen, whenever it was committed.
func (u *upsert) prepare(ctx context.Context) (manifest.Change, error) {
	c := manifest.Change{Operation: table.OpAppend, Properties: map[string]string{
		manifest.OperationKey: u.job.record.Kind, deliveryKeyProperty: deliveryKey{u.search.Refuse != nil, u.job.table.idsOfKey(u.search.Key)}.String(),
	}}
	found, err := u.job.table.rowsOfKeys(ctx, u.job.branch, u.search)
	if err != nil {
		return c, err
	}
	c.Add = u.add[:len(u.add):len(u.add)]
	u.done = DeleteResult{}
	u.done.countAll(found)
	shards := inPart(found, u.marked)
	entries, err := u.markAll(ctx, shards)
	if err != nil {
		return c, err
	}
	for i, m := range shards {
		u.marked[m.Path] = entries[i]
	}
	for i := range found {
		m := &found[i]
		c.Operation, c.Remove = table.OpOverwrite, append(c.Remove, m.Path)
		if !m.Whole {
			c.Add = append(c.Add, u.marked[m.Path])
		}
	}
	return c, u.job.checkEntries(u.job.table, c.Add)
}
