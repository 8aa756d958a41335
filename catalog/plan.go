package catalog

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"

	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// NoRows is the Limit of a scan that reads nothing but plans all the same.
const NoRows = math.MinInt64

// ScanOptions report what to read of a table.
type ScanOptions struct {
	At
	// Select lists columns by dotted path; nil is all of them.
	Select []string
	// Where is the filter; nil is all rows.
	Where filter.Expr
	// Limit is the most rows to read: 0 for all, NoRows for none.
	Limit int64
	// Offset leaves out so many rows first. It goes with Ordered or OrderBy: without an order any rows may be left out.
	Offset int64
	// OrderBy orders the rows by columns; rows that are equal there come in the order of Ordered. What does not fit into
	// SortMemory bytes (0: rowsort's default, 128 MiB) goes to temporary files in SortDir (empty: the system's).
	OrderBy    []OrderKey
	SortMemory int64
	SortDir    string
	// Sample draws so many rows with equal chances, 0 for all. Seed makes the same draw again, 0 is random.
	Sample int64
	Seed   uint64
	// Ordered gives the rows in the order in which they were committed; otherwise shards come as they are read.
	Ordered bool
	// IgnoreIndexes reads as if no shard had an index.
	IgnoreIndexes bool
	// BatchRows is the most rows of a batch, shardfmt.DefaultBatchRows if 0.
	BatchRows int
	// ReuseBatches lets the memory of a batch's values be used again for the next ones: it is valid only until the next batch is
	// requested. Rows that are sorted or sampled are kept all the same.
	ReuseBatches bool
	// MaxMemory is the most bytes of memory that the values of the scan may take, that of the catalog's Options if 0; see
	// shardfmt.ScanOptions.
	MaxMemory int64
	// Runs reports that the plan will be run, so that planning may read the roots of few shards ahead, while their term filters are read.
	// Scan, Read and Export set it.
	Runs bool
	// SkipDamaged leaves out the stripes that can't be read; Plan.Damaged lists them. Everything is read twice, the first time by Plan.
	SkipDamaged bool
}

// Plan is what a scan will read, and what the filter ruled out without opening anything.
type Plan struct {
	// Shards to read, in the order of their commits.
	Shards []*manifest.Entry
	// Total counts the live shards of the state; PrunedPartition those that partition values rule out,
	// PrunedBounds those that other counts and bounds of their entries rule out, and PrunedTerms those of which the term filters of
	// all stripes do, PrunedKeys those of which a key index of the table does. Each shard counts once.
	Total, PrunedPartition, PrunedBounds, PrunedTerms, PrunedKeys int
	// Manifests counts those that were read, ManifestsPruned those that their partition summaries rule out.
	Manifests, ManifestsPruned int
	// Damaged lists what SkipDamaged leaves out, in the order of Shards.
	Damaged []Damage

	table   *Table
	schema  *manifest.TableSchema
	options ScanOptions
	bound   *filter.Bound
	// stats are what the entry that is looked at states about the filter's fields.
	stats *entryStats
	// ruledOut are the stripes that term filters and key indexes rule out, by the shard's path; shards that have no filters have none.
	ruledOut map[string][]bool
	// leftOut are the stripes that can't be read, by the shard's path; nil without SkipDamaged.
	leftOut map[string][]bool
	// opened are shards that were opened while their term filters were read, nil for none.
	opened *openedShards
	// window, if not nil, are the only records that are read of the only shard.
	window *window
	// columns are the selected nodes of the schema.
	columns []*schema.Node
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
	p := &Plan{table: t, schema: ts, options: o.ordered()}
	if err := p.bind(); err != nil {
		return nil, err
	}
	if s == nil {
		return p, nil
	}
	skipped := 0
	for e, err := range t.entriesOf(ctx, s, p.projection(), func(m iceberg.ManifestFile) bool {
		skip := p.skipsManifest(m)
		if skip {
			skipped += int(m.AddedDataFiles() + m.ExistingDataFiles())
			p.ManifestsPruned++
		} else {
			p.Manifests++
		}
		return skip
	}) {
		if err != nil {
			return nil, err
		}
		p.Shards = append(p.Shards, e)
	}
	p.Total += skipped
	p.PrunedPartition += skipped
	slices.SortStableFunc(p.Shards, byCommit)
	if o.SkipDamaged {
		return p, p.leaveOut(ctx)
	}
	return p, p.sift(ctx)
}

// PlanOf plans to read given shards of the table by its current schema, whether or not they are live.
func (t *Table) PlanOf(shards []*manifest.Entry, o ScanOptions) (*Plan, error) {
	p := &Plan{table: t, schema: t.schema, options: o.ordered(), Shards: shards, Total: len(shards)}
	return p, p.bind()
}

// ordered makes the order of the rows settled where a sort or a seed builds upon it.
func (o ScanOptions) ordered() ScanOptions {
	o.Ordered = o.Ordered || len(o.OrderBy) > 0 || o.Sample > 0 && o.Seed != 0
	return o
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

func byCommit(a, b *manifest.Entry) int {
	if a.Sequence != b.Sequence {
		return int(a.Sequence - b.Sequence)
	}
	return strings.Compare(a.Path, b.Path)
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

// bindFilter ties a filter to a schema of a table: each filter of a scan, a deletion or a policy goes this way, once. Plan.pushDown adapts it to the
// schemas of shards. A filter that was bound to this very schema is used as it is.
func bindFilter(where filter.Expr, s *manifest.TableSchema) (*filter.Bound, error) {
	bound, err := filter.Bind(where, s.Shard)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return bound, nil
}

// bind ties filter and selection to the schema.
func (p *Plan) bind() error {
	if l := p.options.Limit; l < 0 && l != NoRows {
		return fmt.Errorf("%w: limit %d", ErrInvalid, l)
	}
	for _, k := range p.options.OrderBy {
		if _, err := p.schema.Shard.Lookup(k.Column); err != nil {
			return fmt.Errorf("%w: order: %w", ErrInvalid, err)
		}
	}
	if p.options.Where != nil {
		bound, err := bindFilter(p.options.Where, p.schema)
		if err != nil {
			return err
		}
		p.bound, p.options.Where = bound, bound
	}
	if p.options.Select == nil {
		p.columns = p.schema.Shard.Fields
		return nil
	}
	for _, path := range p.options.Select {
		n, err := p.schema.Shard.Lookup(path)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		p.columns = append(p.columns, n)
	}
	return nil
}

// checkColumns refuses to read columns of types that shards don't have.
func (p *Plan) checkColumns() error {
	if u := p.schema.Unsupported; len(u) > 0 && p.options.Select == nil {
		return corrupt.Locate(corrupt.Unsupported(-1, "column %q has Iceberg type %s; select others", u[0].Name, u[0].Type),
			p.table.MetadataLocation(), 0)
	}
	return nil
}

// skipsManifest decides by the partition summaries of a manifest.
func (p *Plan) skipsManifest(m iceberg.ManifestFile) bool {
	spec := p.table.ice.Metadata().PartitionSpecByID(int(m.PartitionSpecID()))
	if p.bound == nil || spec == nil || spec.NumFields() == 0 {
		return false
	}
	return !p.bound.MayMatch(func(id uint32) *filter.Stats {
		return p.schema.SummaryStats(*spec, m.Partitions(), id)
	})
}

// projection reads of each entry what the filter requests, and all of those that it does not rule out.
func (p *Plan) projection() *manifest.Projection {
	keep := &manifest.Projection{Keep: p.keeps}
	if p.bound != nil {
		for _, node := range p.bound.Nodes() {
			keep.Columns = append(keep.Columns, p.schema.IDs[node])
		}
	}
	if len(p.options.OrderBy) > 0 && p.options.Limit > 0 { // see atMostLast
		if n, err := p.schema.Shard.Lookup(p.options.OrderBy[0].Column); err == nil {
			keep.Columns = append(keep.Columns, p.schema.IDs[n.ID])
		}
	}
	return keep
}

// keeps counts an entry, and reports whether nothing rules it out.
func (p *Plan) keeps(e *manifest.Entry) bool {
	p.Total++
	if p.bound == nil {
		return true
	}
	if p.stats == nil {
		p.stats = newEntryStats(p.table, p.schema, p.bound)
	}
	p.stats.look(e)
	switch {
	case p.stats.partitionRulesOut():
		p.PrunedPartition++
		return false
	case p.stats.rulesOut():
		p.PrunedBounds++
		return false
	}
	return true
}
