package catalog

import (
	"context"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/colstats"
	"github.com/shardcat/shardcat/catalog/internal/tablescan"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// The types of scans. They are declared in a package that no other module can import, which has their fields and methods:
//
//	go doc github.com/shardcat/shardcat/catalog/internal/tablescan.ScanOptions
type (
	// At selects a state of a table: a snapshot, a time or a ref. The zero value is the head of main.
	At = tablescan.At
	// ScanOptions select the rows and columns of a scan: Where, Select, OrderBy, Limit and others. The zero value reads everything.
	ScanOptions = tablescan.ScanOptions
	// OrderKey is a column by which a scan orders its rows.
	OrderKey = tablescan.OrderKey
	// ReadOptions are ScanOptions and how Arrow records are to look.
	ReadOptions = tablescan.ReadOptions
	// Plan is what a scan will read, and what its filter excluded without a shard being opened. Run gives batches, Reader Arrow records.
	Plan = tablescan.Plan
	// ScanStats count what a scan read, and what partitions, statistics and indexes excluded.
	ScanStats = tablescan.ScanStats
	// Damage is what of a shard can't be read, for scans that leave it out (ScanOptions.SkipDamaged).
	Damage = tablescan.Damage
	// Task is a part of a scan that any process with access to the store can read, see Table.ReadTask.
	Task = tablescan.Task
	// TaskPlan is a scan cut into tasks, see Plan.Tasks.
	TaskPlan = tablescan.TaskPlan
	// Statistics are what the shards of a table state about its columns, see Table.Statistics.
	Statistics = colstats.Statistics
	// ColumnStatistics are those of one column, or of one member of a struct.
	ColumnStatistics = colstats.ColumnStatistics
)

const (
	// NoRows is the Limit of a scan that reads nothing but plans all the same.
	NoRows = tablescan.NoRows
	// DefaultSplitSize is how many stored bytes a task covers, unless stated otherwise.
	DefaultSplitSize = tablescan.DefaultSplitSize
)

// Scan plans and reads. Batches have the columns of Schema in canonical Arrow types. They need no Release, and may be
// kept unless ReuseBatches states otherwise; a loop that releases each when it is done with it takes less time, see
// shardfmt.Shard.Scan. It stops at the first error, which it yields. stats may be nil.
func (t *Table) Scan(ctx context.Context, o ScanOptions, stats *ScanStats) iter.Seq2[arrow.RecordBatch, error] {
	o.Runs = true
	return run(ctx, stats, func() (*Plan, error) { return t.Plan(ctx, o) })
}

// run makes a plan and runs it.
func run(ctx context.Context, stats *ScanStats, plan func() (*Plan, error)) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		p, err := plan()
		if err != nil {
			yield(nil, err)
			return
		}
		p.Run(ctx, stats)(yield)
	}
}

// Plan prunes by what the manifests say, and by the term filters that they lead to. It reads manifests and short pieces of filters, and
// opens no shard unless ScanOptions.Runs allows it.
func (t *Table) Plan(ctx context.Context, o ScanOptions) (*Plan, error) {
	s, err := t.snapshot(o.At)
	if err != nil {
		return nil, err
	}
	ts := t.schema
	if s != nil && s.SchemaID != nil && !t.follows(o.At) {
		if ts, err = t.schemaByID(*s.SchemaID); err != nil {
			return nil, err
		}
	}
	p, err := tablescan.New(t.scanned(ts, s), nil, o)
	if err != nil || s == nil {
		return p, err
	}
	err = tablescan.Prune(p, func(columns *manifest.Projection, skip func(iceberg.ManifestFile) bool) iter.Seq2[*manifest.Entry, error] {
		return t.entriesOf(ctx, s, columns, skip)
	})
	if err != nil {
		return nil, err
	}
	if o.SkipDamaged {
		return p, tablescan.LeaveOut(ctx, p)
	}
	if err := t.siftKeys(ctx, p, ts); err != nil {
		return p, err
	}
	return p, tablescan.Sift(ctx, p)
}

// PlanOf plans to read given shards of the table by its current schema, whether or not they are live.
func (t *Table) PlanOf(shards []*manifest.Entry, o ScanOptions) (*Plan, error) {
	return tablescan.New(t.scanned(t.schema, t.branch("")), shards, o)
}

// scanned is the state of the table that a scan reads by a schema.
func (t *Table) scanned(ts *manifest.TableSchema, s *table.Snapshot) *tablescan.State {
	o := &t.cat.opts
	out := &tablescan.State{Table: t, Name: t.name.String(), Schema: ts, Metadata: t.ice.Metadata(), Client: t.cat.client, Log: o.Log, MaxMemory: o.MaxMemory}
	if s != nil {
		out.SnapshotID = s.SnapshotID
	}
	return out
}

// follows reports whether a state is read by the table's current schema: the head of a branch is, an older state or a
// tag has the schema of its time.
func (t *Table) follows(at At) bool {
	if at.SnapshotID != 0 || !at.AsOf.IsZero() {
		return false
	}
	_, err := t.writableBranch(at.Ref)
	return err == nil
}

// schemaByID is the table's schema of an earlier time.
func (t *Table) schemaByID(id int) (*manifest.TableSchema, error) {
	if id == t.ice.Schema().ID {
		return t.schema, nil
	}
	for _, sc := range t.ice.Metadata().Schemas() {
		if sc.ID == id {
			var notes manifest.TypeNotes
			if err := notes.Decode(t.ice.Properties()[manifest.TypesProperty]); err != nil {
				return nil, err
			}
			s := manifest.NewTableSchema(sc, notes)
			s.Names = t.schema.Names
			return s, nil
		}
	}
	return nil, fmt.Errorf("table %s: schema %d: %w", t.name, id, ErrNotFound)
}

// Schemas are all schemas that the table has had, the current one among them.
func (t *Table) Schemas() ([]*manifest.TableSchema, error) {
	var out []*manifest.TableSchema
	for _, sc := range t.ice.Metadata().Schemas() {
		s, err := t.schemaByID(sc.ID)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// PlanTask makes a plan that reads one task. A task of another table, of an unknown version, or with records that its shard does not have
// is refused; so is a shard outside of the table's vault and what it has adopted.
func (t *Table) PlanTask(task *Task) (*Plan, error) {
	return tablescan.OfTask(t.scanned(nil, nil), t.schemaByID, task)
}

// ReadTask reads one task; see PlanTask and Scan.
func (t *Table) ReadTask(ctx context.Context, task *Task, stats *ScanStats) iter.Seq2[arrow.RecordBatch, error] {
	return run(ctx, stats, func() (*Plan, error) { return t.PlanTask(task) })
}

// openShard opens a shard by its root, allowed to refer to the table's own vault folder and to what it has
// adopted.
func (t *Table) openShard(ctx context.Context, client *blobio.Client, root string, size int64) (*shardfmt.Shard, error) {
	return tablescan.Open(ctx, client, t, root, shardfmt.OpenOptions{Size: size})
}

// Matcher gives a function that reports whether an entry's bounds and counts prove that a filter selects all its rows, and the
// columns, by field id, that such an entry must have; see BriefEntries. A filter on columns that the table lacks is ErrInvalid.
func (t *Table) Matcher(where filter.Expr) (whole func(*manifest.Entry) bool, columns []int, err error) {
	bound, err := tablescan.Bind(where, t.schema)
	if err != nil {
		return nil, nil, err
	}
	for _, node := range bound.Nodes() {
		columns = append(columns, t.schema.IDs[node])
	}
	return func(e *manifest.Entry) bool {
		return bound.MustMatch(func(id uint32) *filter.Stats { return t.schema.Stats(e, id) })
	}, columns, nil
}

// Statistics gives the statistics of all columns of a state of the table. It reads the roots of the shards, and of
// their data only columns whose statistics are missing or count records that are deleted.
func (t *Table) Statistics(ctx context.Context, at At) (*Statistics, error) {
	return colstats.Of(ctx, t.scanned(t.schema, nil), t.Entries(ctx, at))
}
