package compaction

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// Policy determines when shards should be merged and what a merged shard may look like. The zero value is valid: each
// zero member stands for its default.
type Policy struct {
	// TargetRecords and TargetSize are what a merged shard should reach, in live records and in stored bytes.
	// A shard that has reached one of them is left alone.
	TargetRecords, TargetSize int64
	// MaxRows is the maximum number of records of a merged shard, deleted ones included.
	MaxRows int64
	// MinSizeRatio is the share of a target from which on a shard is large enough and left alone, up to 1. MaxSizeRatio is how
	// many times a target a merged shard may be, 1 or more: a group ends once it has reached the target.
	MinSizeRatio, MaxSizeRatio float64
	// MinInputs is the least number of shards that are worth a merge, MaxInputs the most of one merge.
	MinInputs, MaxInputs int
	// MaxCreationRange is the longest time between the first and the last record of a merged shard, negative for no limit. 0 is
	// creationShare of the table's retention, so that retention by whole shards comes no later than that, and
	// defaultCreationRange for a table without one. Shards that do not report when their records were created are merged only with each other.
	MaxCreationRange time.Duration
	// Lookback is the age of the youngest record from which on a shard is left alone; 0 is no such age.
	Lookback time.Duration
	// Where, if not empty, is a merge only shards whose bounds prove that all rows match this filter.
	Where string
	// Order, if not empty, is how the rows of a rebuild are sorted: columns as catalog.ParseOrder reads them.
	Order string
	// MaxOverlapDepth is the most shards at the target that may hold the same values of the first column of the order, 0 for no limit. Beyond it
	// they are rebuilt together, as shards that follow one another.
	MaxOverlapDepth int
	// MaxBytesPerRun is the most data that one plan moves, 0 for no limit.
	MaxBytesPerRun int64
	// Concurrency is how many groups of a table are worked on at the same time.
	Concurrency int
	// MaxStripes, MaxMetadataBytes and MaxObjects cap a merged root. The objects of indexes don't count.
	MaxStripes, MaxMetadataBytes, MaxObjects int64
	// NoConcat, NoPack and NoRebuild forbid a kind of work.
	NoConcat, NoPack, NoRebuild bool
	// PackObjects is the number of objects with values from which on a shard of small ones, below merge.PackBelow on average, is packed. PackAll
	// packs every shard below the target.
	PackObjects int64
	PackAll     bool
	// RebuildAll plans every shard below the target as a rebuild, whether or not it needs one.
	RebuildAll bool
	// RebuildDeletedRatio is the share of deleted records from which on a shard is rebuilt.
	RebuildDeletedRatio float64
	// RebuildStripes is the number of requests for a column, one for each stripe that was not packed, from which on a shard of small stripes is
	// rebuilt, if full ones take an eighth of them at most.
	RebuildStripes int64
	// Tagged and External admit shards with standard properties, and adopted ones.
	Tagged, External bool
}

// The defaults of a Policy.
const (
	defaultTargetRecords = 64 << 20
	defaultTargetSize    = 1 << 30
	defaultMaxRows       = 128 << 20
	defaultMinInputs     = 2
	defaultMaxInputs     = 1000
	defaultMaxStripes    = 10_000
	// defaultMaxMetadataBytes: a root that large takes a second to fetch at 64 MiB/s.
	defaultMaxMetadataBytes = 64 << 20
	// defaultMaxObjects: readers of the reference implementation keep each object open, and 1,024 open files
	// are a usual limit.
	defaultMaxObjects = 900
	// defaultMinSizeRatio: a shard that lacks less than a quarter is not worth a new root for each small neighbour.
	defaultMinSizeRatio = 0.75
	defaultMaxSizeRatio = 1.0
	// creationShare of the retention is how much longer than requested a row may stay because of other rows of its shard.
	creationShare        = 0.03
	defaultCreationRange = 24 * time.Hour
	defaultConcurrency   = 1
	// defaultRebuildDeletedRatio: reading past a tenth of the rows costs less than writing the other nine.
	defaultRebuildDeletedRatio = 0.1
	// defaultPackObjects is half of defaultMaxObjects: objects become fewer before their number keeps shards from being merged.
	defaultPackObjects = 450
	// defaultRebuildStripes: so many small stripes cost a scan of one column as many requests.
	defaultRebuildStripes = 64
	// stripeGrowth is how many times as large a rebuild makes the stripes of a shard, on average, or there is none. Stripes that
	// would not grow so much stay where they are, so that a record is rewritten a logarithm of times.
	stripeGrowth = 8
)

// withDefaults fills in what is zero, except for a creation range that depends on the table.
func (p Policy) withDefaults() Policy {
	p.TargetRecords = cmp.Or(p.TargetRecords, defaultTargetRecords)
	p.TargetSize = cmp.Or(p.TargetSize, defaultTargetSize)
	p.MaxRows = cmp.Or(p.MaxRows, defaultMaxRows)
	p.MinSizeRatio = cmp.Or(p.MinSizeRatio, defaultMinSizeRatio)
	p.MaxSizeRatio = cmp.Or(p.MaxSizeRatio, defaultMaxSizeRatio)
	p.MinInputs = cmp.Or(p.MinInputs, defaultMinInputs)
	p.MaxInputs = cmp.Or(p.MaxInputs, defaultMaxInputs)
	p.MaxStripes = cmp.Or(p.MaxStripes, defaultMaxStripes)
	p.MaxMetadataBytes = cmp.Or(p.MaxMetadataBytes, defaultMaxMetadataBytes)
	p.MaxObjects = cmp.Or(p.MaxObjects, defaultMaxObjects)
	p.PackObjects = cmp.Or(p.PackObjects, defaultPackObjects)
	p.RebuildStripes = cmp.Or(p.RebuildStripes, defaultRebuildStripes)
	p.RebuildDeletedRatio = cmp.Or(p.RebuildDeletedRatio, defaultRebuildDeletedRatio)
	p.Concurrency = cmp.Or(p.Concurrency, defaultConcurrency)
	return p
}

// forTable also settles the creation range, by the table's retention.
func (p Policy) forTable(retention time.Duration) Policy {
	p = p.withDefaults()
	switch {
	case p.MaxCreationRange != 0:
	case retention > 0:
		p.MaxCreationRange = max(time.Duration(creationShare*float64(retention)), time.Second)
	default:
		p.MaxCreationRange = defaultCreationRange
	}
	return p
}

// ErrPolicy: a policy that can't be meant.
var ErrPolicy = errors.New("invalid compaction policy")

// Validate checks a policy.
func (p Policy) Validate() error {
	d := p.withDefaults()
	switch {
	case min(d.TargetRecords, d.TargetSize, d.MaxRows, d.MaxStripes, d.MaxMetadataBytes, d.MaxObjects, d.RebuildStripes, d.PackObjects, d.MaxBytesPerRun) < 0 || d.Lookback < 0:
		return fmt.Errorf("%w: a limit is negative", ErrPolicy)
	case !(d.MinSizeRatio > 0 && d.MinSizeRatio <= 1):
		return fmt.Errorf("%w: min-size-ratio is %v; it is a share of the target above 0 and up to 1", ErrPolicy, d.MinSizeRatio)
	case !(d.MaxSizeRatio >= 1 && d.MaxSizeRatio <= 100):
		return fmt.Errorf("%w: max-size-ratio is %v; a merged shard may be 1 to 100 times the target", ErrPolicy, d.MaxSizeRatio)
	case d.MaxOverlapDepth < 0:
		return fmt.Errorf("%w: max-overlap-depth is %d; it is the number of shards that may hold the same values", ErrPolicy, d.MaxOverlapDepth)
	case d.MinInputs < 2:
		return fmt.Errorf("%w: min-inputs is %d; a merge has 2 inputs at least", ErrPolicy, d.MinInputs)
	case !(d.RebuildDeletedRatio > 0 && d.RebuildDeletedRatio <= 1):
		return fmt.Errorf("%w: rebuild-deleted-ratio is %v; it is a share above 0 and up to 1", ErrPolicy, d.RebuildDeletedRatio)
	case d.MaxInputs < d.MinInputs:
		return fmt.Errorf("%w: max-inputs %d is less than min-inputs %d", ErrPolicy, d.MaxInputs, d.MinInputs)
	case d.Concurrency < 1 || d.Concurrency > 64:
		return fmt.Errorf("%w: concurrency is %d; 1 to 64 groups at a time", ErrPolicy, d.Concurrency)
	}
	if _, err := d.where(); err != nil {
		return fmt.Errorf("%w: where: %w", ErrPolicy, err)
	}
	if _, err := d.order(); err != nil {
		return fmt.Errorf("%w: %w", ErrPolicy, err)
	}
	return nil
}

// where is the filter for shards, nil if there is none.
func (p Policy) where() (filter.Expr, error) {
	if p.Where == "" {
		return nil, nil
	}
	return filter.Parse(p.Where)
}

// order is how rebuilt rows are sorted, nil if they stay as they are.
func (p Policy) order() ([]catalog.OrderKey, error) {
	if p.Order == "" {
		return nil, nil
	}
	return catalog.ParseOrder(p.Order)
}
