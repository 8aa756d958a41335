package scan

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/stats"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// mayMatch reports whether statistics, of which describe states those of a field, allow a record of a stripe, or with a
// negative one of the shard, to match.
func (p *plan) mayMatch(stripe int, describe func(id uint32) (*metapb.FieldDescriptor, error)) (bool, error) {
	expected := p.q.Root.Directory().TotalRecordCount
	if stripe >= 0 {
		expected = p.q.Stripes[stripe].Records
	}
	known := make(map[uint32]*filter.Stats)
	var failed error
	p.q.Needed.Walk(func(_ string, n *schema.Node) bool {
		d, err := describe(n.ID)
		if err != nil {
			failed = err
			return false
		}
		if stats.Contradiction(d) != "" {
			known[n.ID] = &filter.Stats{} // which of its statements is wrong is not known
		} else if d != nil {
			known[n.ID] = statsOf(n, d, expected)
		} else if stripe >= 0 { // a field that a stripe lacks is null
			known[n.ID] = &filter.Stats{Positions: expected, Nulls: expected, NullsKnown: true}
		}
		return true
	})
	if failed != nil {
		return false, failed
	}
	return p.q.Filter.MayMatch(func(id uint32) *filter.Stats { return known[id] }), nil
}

// descriptor is what a stripe, or with a negative one the shard, states about a field; nil if nothing.
func (p *plan) descriptor(ctx context.Context, stripe int, id uint32) (*metapb.FieldDescriptor, error) {
	if stripe < 0 {
		return p.q.Root.ShardField(ctx, id)
	}
	d, _, err := p.q.Root.SharedStripeField(ctx, stripe, id)
	return d.GetField(), err
}

// descriptors is descriptor for one stripe.
func (p *plan) descriptors(ctx context.Context, stripe int) func(id uint32) (*metapb.FieldDescriptor, error) {
	return func(id uint32) (*metapb.FieldDescriptor, error) { return p.descriptor(ctx, stripe, id) }
}

// statsOf puts a descriptor into the terms of the filter. What covers fewer positions than expected states
// nothing of the others, which are null; of a field below a list or a nullable struct, nothing is concluded
// from counts.
func statsOf(n *schema.Node, d *metapb.FieldDescriptor, expected uint64) *filter.Stats {
	s := &filter.Stats{Positions: d.PositionCount}
	complete := d.PositionCount == expected && n.Parent == schema.NoParent
	if d.NullCount != nil && complete {
		s.Nulls, s.NullsKnown = *d.NullCount, true
	}
	if f := d.GetFloatingStats(); f != nil {
		s.NoNaNs = f.NanCount == 0
	} else if f := d.GetDecimalStats(); f != nil {
		s.NoNaNs = f.NanCount == 0
	} else {
		s.NoNaNs = !isFloating(n)
	}
	if r := d.RangeStats; r != nil && d.PositionCount <= expected {
		s.Min, s.MinExclusive = valueOf(n, r.MinValue), !r.MinInclusive
		s.Max, s.MaxExclusive = valueOf(n, r.MaxValue), !r.MaxInclusive
	}
	if f := d.GetMembershipFilters().GetSbbf(); f != nil {
		s.MayContain = func(v filter.Value) bool { return mayContain(n, f, v) }
	}
	return s
}

func isFloating(n *schema.Node) bool {
	return n.Basic == schema.Float32 || n.Basic == schema.Float64 || n.IsDecimal()
}

// valueOf puts a bound into the terms of the filter, nil if it is of a kind that states nothing.
func valueOf(n *schema.Node, v *metapb.AnyValue) *filter.Value {
	switch k := v.GetKind().(type) {
	case *metapb.AnyValue_I64Value:
		if isSigned(n) {
			return &filter.Value{Int: k.I64Value}
		}
	case *metapb.AnyValue_U64Value:
		return integerValue(n, k.U64Value)
	case *metapb.AnyValue_DatetimeValue:
		return integerValue(n, k.DatetimeValue.GetTicks())
	case *metapb.AnyValue_TimespanValue:
		if isSigned(n) {
			return &filter.Value{Int: int64(k.TimespanValue.GetTicks())}
		}
	case *metapb.AnyValue_DoubleValue:
		if !math.IsNaN(k.DoubleValue) && (n.Basic == schema.Float32 || n.Basic == schema.Float64) {
			return &filter.Value{Float: k.DoubleValue}
		}
	case *metapb.AnyValue_BoolValue:
		if n.Basic == schema.Boolean {
			return &filter.Value{Bool: k.BoolValue}
		}
	case *metapb.AnyValue_StringValue:
		if holdsBytes(n) {
			return &filter.Value{Bytes: []byte(k.StringValue)}
		}
	case *metapb.AnyValue_BytesValue:
		if holdsBytes(n) {
			return &filter.Value{Bytes: k.BytesValue}
		}
	case *metapb.AnyValue_DecimalValue:
		if len(k.DecimalValue) == decimal.Size && n.IsDecimal() {
			return &filter.Value{Bytes: k.DecimalValue}
		}
	}
	return nil
}

// holdsBytes reports whether values of n are byte strings that order by their bytes.
func holdsBytes(n *schema.Node) bool {
	switch n.Basic {
	case schema.String, schema.Binary, schema.Guid:
		return true
	case schema.FixedSizeBinary:
		return !n.IsDecimal()
	}
	return false
}

// isSigned reports whether the filter compares values of n as signed integers.
func isSigned(n *schema.Node) bool { return n.Signed || n.Basic == schema.DateTime }

// integerValue is an unsigned number in the form that belongs to n.
func integerValue(n *schema.Node, v uint64) *filter.Value {
	switch {
	case !n.Basic.IsInteger() && n.Basic != schema.DateTime, isSigned(n) && v > math.MaxInt64:
		return nil
	case isSigned(n):
		return &filter.Value{Int: int64(v)}
	}
	return &filter.Value{Uint: v}
}

// mayContain asks a Bloom filter.
func mayContain(n *schema.Node, f *metapb.SplitBlockBloomFilter, v filter.Value) bool {
	switch {
	case n.IsDecimal():
		if len(v.Bytes) != decimal.Size {
			return true
		}
		b := stats.DecimalBytes(decimal.From(v.Bytes))
		return stats.BloomMayContain(n, f, b[:])
	case isSigned(n):
		b := stats.IntegerBytes(uint64(v.Int))
		return stats.BloomMayContain(n, f, b[:])
	case n.Basic.IsInteger():
		b := stats.IntegerBytes(v.Uint)
		return stats.BloomMayContain(n, f, b[:])
	case isFloating(n):
		b := stats.FloatBytes(v.Float)
		return stats.BloomMayContain(n, f, b[:])
	case n.Basic == schema.Boolean:
		return true
	}
	return stats.BloomMayContain(n, f, v.Bytes)
}

// blockStats is what a range index states about one of its blocks, in memory that is used for the next one again.
type blockStats struct {
	stats           filter.Stats
	least, greatest filter.Value
}

// of fills in what is reported of a block.
func (b *blockStats) of(n *schema.Node, x *colstream.RangeIndex, block int) *filter.Stats {
	r, s := x.Range(block), &b.stats
	*s = filter.Stats{Positions: r.Len(), NoNaNs: !isFloating(n) || x.Invalid == nil || x.Invalid[block] == 0}
	least, greatest, ok := x.Bounds(block)
	if !ok {
		if !isFloating(n) {
			s.Nulls, s.NullsKnown = r.Len(), true
		}
		return s
	}
	b.least, b.greatest = rawValue(n, least), rawValue(n, greatest)
	s.Min, s.Max = &b.least, &b.greatest
	return s
}

// rawValue is a little-endian value in the terms of the filter.
func rawValue(n *schema.Node, b []byte) filter.Value {
	switch {
	case n.IsDecimal():
		return filter.Value{Bytes: b}
	case n.Basic == schema.Float32:
		return filter.Value{Float: float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))}
	case n.Basic == schema.Float64:
		return filter.Value{Float: math.Float64frombits(binary.LittleEndian.Uint64(b))}
	}
	var wide [8]byte
	copy(wide[:], b)
	v := binary.LittleEndian.Uint64(wide[:])
	if !isSigned(n) {
		return filter.Value{Uint: v}
	}
	spare := 64 - 8*len(b)
	return filter.Value{Int: int64(v) << spare >> spare}
}
