package catalog

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/internal/rowhash"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// The columns that changes have before those of the table, under Iceberg's names.
const (
	// ChangeTypeColumn states INSERT or DELETE.
	ChangeTypeColumn = "_change_type"
	// ChangeSnapshotColumn is the snapshot that added or removed the row.
	ChangeSnapshotColumn = "_commit_snapshot_id"
)

// The values of ChangeTypeColumn.
const (
	Inserted = "INSERT"
	Removed  = "DELETE"
)

// Changes are the rows added and removed between two snapshots.
type Changes struct {
	table *Table
	// steps are the snapshots after the first one, oldest first; replaces are left out, for they keep every row.
	steps []*table.Snapshot
}

// Changes finds what has changed since snapshot from, which must be in the history of snapshot to; to is the head of
// main if 0. Rows that a compaction moves, or that stay when others of their shard are deleted, have not changed.
func (t *Table) Changes(from, to int64) (*Changes, error) {
	start, err := t.snapshotOrHead(from)
	if err != nil {
		return nil, err
	}
	end, err := t.snapshotOrHead(to)
	if err != nil {
		return nil, err
	}
	history := t.ancestors(end.SnapshotID)
	at := slices.Index(history, start.SnapshotID)
	if at < 0 {
		return nil, fmt.Errorf("%w: table %s: snapshot %d is not in the history of %d; available: %s", ErrInvalid, t.name, from,
			end.SnapshotID, suggestNames(fmt.Sprint(from), numbered(history)))
	}
	c := &Changes{table: t}
	for _, id := range slices.Backward(history[:at]) {
		s := t.ice.Metadata().SnapshotByID(id)
		if s.Summary == nil || s.Summary.Operation != table.OpReplace {
			c.steps = append(c.steps, s)
		}
	}
	return c, nil
}

// Fields of the changes: the two columns above, then the table's.
func (c *Changes) Fields() []*schema.Node {
	s := &schema.Schema{Fields: []*schema.Node{
		{Name: ChangeTypeColumn, Basic: schema.String}, {Name: ChangeSnapshotColumn, Basic: schema.Int64, Signed: true},
	}}
	for _, f := range c.table.schema.Shard.Fields {
		field := copied(f)
		field.Nullable = f.Nullable || !c.table.everRequired(f) // earlier rows may be null
		s.Fields = append(s.Fields, field)
	}
	s.Number()
	return s.Fields
}

// copied is a node with nodes of its own, to be numbered again.
func copied(n *schema.Node) *schema.Node {
	out := *n
	out.Children = nil
	for _, c := range n.Children {
		out.Children = append(out.Children, copied(c))
	}
	return &out
}

// Run reads the changes: snapshot by snapshot, and of each what it removed before what it added. It stops at the
// first error, which it yields.
func (c *Changes) Run(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		types := arrowtype.Schema(&schema.Schema{Fields: c.Fields()})
		for _, s := range c.steps {
			step := &changeStep{table: c.table, snapshot: s.SnapshotID, types: types, yield: yield}
			if err := step.run(ctx, s); err != nil {
				yield(nil, err)
				return
			}
			if step.ended {
				return
			}
		}
	}
}

// changeStep are the changes of one snapshot.
type changeStep struct {
	table          *Table
	snapshot       int64
	types          *arrow.Schema
	added, removed []*manifest.Entry
	yield          func(arrow.RecordBatch, error) bool
	// ended: the caller wants no more.
	ended   bool
	written rowhash.Rows // to be used again
}

func (s *changeStep) run(ctx context.Context, snapshot *table.Snapshot) error {
	err := s.table.ownEntries(ctx, snapshot, func(e iceberg.ManifestEntry) {
		if e.Status() == iceberg.EntryStatusADDED {
			s.added = append(s.added, manifest.EntryOf(e))
		} else {
			s.removed = append(s.removed, manifest.EntryOf(e))
		}
	})
	if err != nil {
		return err
	}
	if len(s.added) == 0 || len(s.removed) == 0 {
		if err := s.emit(ctx, s.removed, Removed, all); err != nil {
			return err
		}
		return s.emit(ctx, s.added, Inserted, all)
	}
	return s.difference(ctx)
}

// difference gives the rows that are on one side only: a shard that lost some rows is replaced by one with the
// others. 24 bytes of memory for each row of the added shards, and as many free ones at most, distinguish them.
func (s *changeStep) difference(ctx context.Context) error {
	var there rowhash.Counts
	for b, err := range s.rows(ctx, s.added, ScanOptions{ReuseBatches: true}) {
		if err != nil {
			return err
		}
		if err := s.written.Hash(b, func(_ int, h xxh3.Uint128) { there.Add(h) }); err != nil {
			return err
		}
	}
	// A row that comes again stays; it is counted off, so that only rows that came again are left.
	err := s.emit(ctx, s.removed, Removed, func(h xxh3.Uint128) bool { return !there.Take(h) })
	if err != nil {
		return err
	}
	return s.emit(ctx, s.added, Inserted, there.Take)
}

// rows reads shards in the table's current schema.
func (s *changeStep) rows(ctx context.Context, shards []*manifest.Entry, o ScanOptions) iter.Seq2[arrow.RecordBatch, error] {
	return run(ctx, nil, func() (*Plan, error) { return s.table.PlanOf(shards, o) })
}

// all rows have changed: no need to distinguish them.
var all func(xxh3.Uint128) bool

// emit yields the rows of shards that have changed.
func (s *changeStep) emit(ctx context.Context, shards []*manifest.Entry, kind string, changed func(xxh3.Uint128) bool) error {
	if len(shards) == 0 || s.ended {
		return nil
	}
	for b, err := range s.rows(ctx, shards, ScanOptions{Ordered: true}) {
		if err != nil {
			return err
		}
		if changed != nil {
			if b, err = s.keepRows(b, changed); err != nil {
				return err
			}
		}
		if b.NumRows() > 0 && !s.yield(s.marked(b, kind), nil) {
			s.ended = true
			return nil
		}
	}
	return nil
}

// keepRows gives those rows of a batch that keep chooses, in order.
func (s *changeStep) keepRows(b arrow.RecordBatch, keep func(xxh3.Uint128) bool) (arrow.RecordBatch, error) {
	bits := make([]byte, (b.NumRows()+7)/8)
	err := s.written.Hash(b, func(i int, h xxh3.Uint128) {
		if keep(h) {
			bits[i/8] |= 1 << (i % 8)
		}
	})
	if err != nil {
		return nil, err
	}
	return shardfmt.SelectRows(b, bits), nil
}

// marked puts the two columns of changes before those of a batch.
func (s *changeStep) marked(b arrow.RecordBatch, kind string) arrow.RecordBatch {
	n := int(b.NumRows())
	kinds := array.NewLargeStringBuilder(memory.DefaultAllocator)
	kinds.Reserve(n)
	kinds.ReserveData(n * len(kind))
	ids := array.NewInt64Builder(memory.DefaultAllocator)
	ids.Reserve(n)
	for range n {
		kinds.Append(kind)
		ids.UnsafeAppend(s.snapshot)
	}
	columns := append([]arrow.Array{kinds.NewArray(), ids.NewArray()}, b.Columns()...)
	return array.NewRecordBatch(s.types, columns, b.NumRows())
}
