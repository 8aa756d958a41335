package shardfmt

import (
	"context"
	"encoding/json"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
	"github.com/shardcat/shardcat/shardfmt/internal/stats"
	"github.com/shardcat/shardcat/shardfmt/internal/valuejson"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// CheckCPU is an error if the environment requests vector instructions that this machine or this build does not have.
func CheckCPU() error { return simd.Refused() }

// Statistics unites the statistics of one column over shards: what shards state about it, and values where they say nothing.
// Not for concurrent use.
type Statistics struct {
	node *schema.Node
	sum  *metapb.FieldDescriptor
	rows *stats.Collector
}

// StatisticsResult is what is known of a column. Min and Max are JSON, null where no bound is known; Inexact means that a bound
// may be no value of the column. Distinct is nil where nothing is known of it.
type StatisticsResult struct {
	Rows, Nulls   uint64
	Min, Max      json.RawMessage
	Inexact       bool
	Distinct      *uint64
	DistinctExact bool
}

// NewStatistics starts the statistics of a column.
func NewStatistics(node *schema.Node) *Statistics { return &Statistics{node: node} }

// AddShard adds what a shard states about a field, by its number in the shard's schema. It is false, and nothing is added, where
// that is not the truth about the live rows: rows were deleted, or the shard lacks counts or bounds, or has some that contradict
// each other.
func (s *Statistics) AddShard(ctx context.Context, shard *Shard, field uint32) (ok bool, err error) {
	if shard.Deleted() > 0 {
		return false, nil
	}
	d, err := shard.root.ShardField(ctx, field)
	if err != nil || d == nil || d.NullCount == nil || stats.Contradiction(d) != "" {
		return false, err
	}
	if bounded(s.node) && d.RangeStats == nil && *d.NullCount < d.PositionCount {
		return false, nil
	}
	s.sum = stats.Fold(s.sum, d)
	return true, nil
}

// AddNulls adds rows without a value.
func (s *Statistics) AddNulls(rows uint64) {
	s.sum = stats.Fold(s.sum, &metapb.FieldDescriptor{PositionCount: rows, NullCount: &rows})
}

// Add adds values.
func (s *Statistics) Add(a arrow.Array) {
	if s.rows == nil {
		s.rows = stats.NewCollector(s.node, stats.Options{Bloom: stats.BloomNever})
	}
	s.rows.Add(a)
}

// Result is what is known of all that was added.
func (s *Statistics) Result() StatisticsResult {
	d := s.sum
	if s.rows != nil {
		d = stats.Fold(d, s.rows.Descriptor())
	}
	r := StatisticsResult{Min: json.RawMessage("null"), Max: json.RawMessage("null")}
	if d == nil {
		return r
	}
	r.Rows, r.Nulls = d.PositionCount, d.GetNullCount()
	if b := d.RangeStats; b != nil {
		r.Min, r.Max = valuejson.Of(b.MinValue, s.node), valuejson.Of(b.MaxValue, s.node)
		r.Inexact = !b.MinInclusive || !b.MaxInclusive
	}
	if n := d.Cardinality; n != nil && n.Count != nil {
		r.Distinct, r.DistinctExact = n.Count, !n.IsEstimate
	}
	return r
}

// bounded reports the types whose values have bounds in statistics.
func bounded(n *schema.Node) bool {
	switch n.Basic {
	case schema.Int8, schema.Int16, schema.Int32, schema.Int64, schema.Float32, schema.Float64, schema.DateTime, schema.String:
		return true
	}
	return false
}
