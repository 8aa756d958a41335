package tablescan

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"

	"github.com/shardcat/shardcat/catalog/internal/caterr"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// NoRows is the Limit of a scan that reads nothing but plans all the same.
const NoRows = math.MinInt64

// ScanOptions select the rows and columns of a scan.
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
	// Runs means that the plan will be run, so that planning may read the roots of few shards ahead, while their term filters are read.
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

	state   *State
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

// New plans to read given shards, whether or not they are live.
func New(s *State, shards []*manifest.Entry, o ScanOptions) (*Plan, error) {
	// A sort or a seed builds upon a settled order.
	o.Ordered = o.Ordered || len(o.OrderBy) > 0 || o.Sample > 0 && o.Seed != 0
	p := &Plan{state: s, options: o, Shards: shards, Total: len(shards), ruledOut: map[string][]bool{}}
	return p, p.bind()
}

// Entries yields the live entries of a snapshot, as much of them as p states. It calls skip for each manifest, which reports whether its entries need
// not be read.
type Entries func(p *manifest.Projection, skip func(iceberg.ManifestFile) bool) iter.Seq2[*manifest.Entry, error]

// Prune adds the shards of a snapshot that manifests and entries do not rule out.
func Prune(p *Plan, entries Entries) error {
	skipped := 0
	for e, err := range entries(p.projection(), func(m iceberg.ManifestFile) bool {
		skip := SkipsManifest(p, m)
		if skip {
			skipped += int(m.AddedDataFiles() + m.ExistingDataFiles())
			p.ManifestsPruned++
		} else {
			p.Manifests++
		}
		return skip
	}) {
		if err != nil {
			return err
		}
		p.Shards = append(p.Shards, e)
	}
	p.Total += skipped
	p.PrunedPartition += skipped
	slices.SortStableFunc(p.Shards, byCommit)
	return nil
}

func byCommit(a, b *manifest.Entry) int {
	if a.Sequence != b.Sequence {
		return int(a.Sequence - b.Sequence)
	}
	return strings.Compare(a.Path, b.Path)
}

// Within is the plan of one shard with the records from one position to before another.
func Within(p *Plan, start, end uint64) *Plan {
	part := *p
	part.window = &window{start, end}
	return &part
}

// MayMatch reports whether an entry's counts and bounds do not rule it out; the plan must have a filter.
func MayMatch(p *Plan, e *manifest.Entry) bool {
	return p.bound.MayMatch(func(id uint32) *filter.Stats { return p.state.Schema.Stats(e, id) })
}

// Bind ties a filter to a schema of a table: each filter of a scan, a deletion or a policy goes this way, once. Plan.pushDown adapts it to the
// schemas of shards. A filter that was bound to this very schema is used as it is.
func Bind(where filter.Expr, s *manifest.TableSchema) (*filter.Bound, error) {
	bound, err := filter.Bind(where, s.Shard)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", caterr.ErrInvalid, err)
	}
	return bound, nil
}

// bind ties filter and selection to the schema.
func (p *Plan) bind() error {
	if l := p.options.Limit; l < 0 && l != NoRows {
		return fmt.Errorf("%w: limit %d", caterr.ErrInvalid, l)
	}
	for _, k := range p.options.OrderBy {
		if _, err := p.state.Schema.Shard.Lookup(k.Column); err != nil {
			return fmt.Errorf("%w: order: %w", caterr.ErrInvalid, err)
		}
	}
	if p.options.Where != nil {
		bound, err := Bind(p.options.Where, p.state.Schema)
		if err != nil {
			return err
		}
		p.bound, p.options.Where = bound, bound
	}
	if p.options.Select == nil {
		p.columns = p.state.Schema.Shard.Fields
		return nil
	}
	for _, path := range p.options.Select {
		n, err := p.state.Schema.Shard.Lookup(path)
		if err != nil {
			return fmt.Errorf("%w: %w", caterr.ErrInvalid, err)
		}
		p.columns = append(p.columns, n)
	}
	return nil
}

// checkColumns refuses to read columns of types that shards don't have.
func (p *Plan) checkColumns() error {
	if u := p.state.Schema.Unsupported; len(u) > 0 && p.options.Select == nil {
		return corrupt.Locate(corrupt.Unsupported(-1, "column %q has Iceberg type %s; select others", u[0].Name, u[0].Type),
			p.state.MetadataLocation(), 0)
	}
	return nil
}

// SkipsManifest decides by the partition summaries of a manifest.
func SkipsManifest(p *Plan, m iceberg.ManifestFile) bool {
	spec := p.state.Metadata.PartitionSpecByID(int(m.PartitionSpecID()))
	if p.bound == nil || spec == nil || spec.NumFields() == 0 {
		return false
	}
	return !p.bound.MayMatch(func(id uint32) *filter.Stats {
		return p.state.Schema.SummaryStats(*spec, m.Partitions(), id)
	})
}

// projection reads of each entry what the filter requests, and all of those that it does not rule out.
func (p *Plan) projection() *manifest.Projection {
	keep := &manifest.Projection{Keep: p.keeps}
	if p.bound != nil {
		for _, node := range p.bound.Nodes() {
			keep.Columns = append(keep.Columns, p.state.Schema.IDs[node])
		}
	}
	if len(p.options.OrderBy) > 0 && p.options.Limit > 0 { // see atMostLast
		if n, err := p.state.Schema.Shard.Lookup(p.options.OrderBy[0].Column); err == nil {
			keep.Columns = append(keep.Columns, p.state.Schema.IDs[n.ID])
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
		p.stats = newEntryStats(p.state, p.bound)
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

// entryStats returns the statistics of one entry after another for the fields of a filter: made once each, however often the filter asks, and over
// the same memory, for a plan may look at a million entries.
type entryStats struct {
	state  *State
	bound  *filter.Bound
	entry  *manifest.Entry
	fields []fieldStats
	// ofEntry and ofPartition are entryStats and partitionStats, made values once.
	ofEntry, ofPartition func(node uint32) *filter.Stats
	// spec is the last partition spec that was requested, by specID.
	spec   *iceberg.PartitionSpec
	specID int
}

// fieldStats are what the entry states about a field.
type fieldStats struct {
	node uint32
	made bool
	is   *filter.Stats
	room manifest.FieldStats
}

func newEntryStats(s *State, b *filter.Bound) *entryStats {
	out := &entryStats{state: s, bound: b}
	for _, node := range b.Nodes() {
		out.fields = append(out.fields, fieldStats{node: node})
	}
	out.ofEntry, out.ofPartition = out.entryStats, out.partitionStats
	return out
}

// look turns to another entry.
func (s *entryStats) look(e *manifest.Entry) {
	s.entry = e
	for i := range s.fields {
		s.fields[i].made = false
	}
}

// entryStats is what the entry's counts and bounds state about a field.
func (s *entryStats) entryStats(node uint32) *filter.Stats {
	for i := range s.fields {
		if f := &s.fields[i]; f.node == node {
			if !f.made {
				f.is, f.made = s.state.Schema.StatsInto(s.entry, node, &f.room), true
			}
			return f.is
		}
	}
	return s.state.Schema.Stats(s.entry, node)
}

// partitionStats is what the entry's partition states about a field.
func (s *entryStats) partitionStats(node uint32) *filter.Stats {
	return s.state.Schema.PartitionStats(*s.spec, s.entry.Partition, node)
}

// partitionRulesOut reports whether no row of the entry's partition matches.
func (s *entryStats) partitionRulesOut() bool {
	if s.spec == nil || s.specID != s.entry.SpecID {
		s.spec, s.specID = s.state.Metadata.PartitionSpecByID(s.entry.SpecID), s.entry.SpecID
	}
	return s.spec != nil && s.spec.NumFields() > 0 && !s.bound.MayMatch(s.ofPartition)
}

// rulesOut reports whether no row of the entry matches, by its counts and bounds.
func (s *entryStats) rulesOut() bool { return !s.bound.MayMatch(s.ofEntry) }
