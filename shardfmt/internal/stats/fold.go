package stats

import (
	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// Fold adds the statistics of one more stripe to those of the stripes before it, which makes the descriptor
// of the field for the whole shard. It returns the sum, which is dst, changed, or a copy of next where dst is
// nil or has no positions yet; next is never changed. Stripes must come in order. A field that is in stripes
// but has no position in any gets an empty descriptor.
//
// The rules are those of the reference (docs/format/statistics.md). In short: counts add up, bounds widen, and what
// one side lacks is gone for good, since a sum without it would be a lie. Filters, and the size of a
// dictionary, belong to a stripe and never to the shard; properties are those of the first stripe.
//
// Where the reference is wrong, this is not: a stripe without positions changes nothing; bounds that can't be
// compared are dropped; of equal bounds, one that includes its value wins; counts of values are dropped when
// a stripe that has values lacks them; indexes of one stripe don't speak for two.
func Fold(dst, next *metapb.FieldDescriptor) *metapb.FieldDescriptor {
	if next.GetPositionCount() == 0 {
		if dst == nil && next != nil {
			return new(metapb.FieldDescriptor)
		}
		return dst
	}
	if dst.GetPositionCount() == 0 {
		return shardCopy(next)
	}
	cardinality := foldCardinality(dst, next)
	noValues := next.NullCount != nil && *next.NullCount == next.PositionCount
	dst.PositionCount += next.PositionCount
	dst.NullCount = addCounts(dst.NullCount, next.NullCount)
	dst.RawDataSize = addCounts(dst.RawDataSize, next.RawDataSize)
	dst.RangeStats = foldRange(dst.RangeStats, next.RangeStats)
	if !meta.Equal(dst.ConstantValue, next.ConstantValue) {
		dst.ConstantValue = nil
	}
	if next.TypeSpecific != nil || !noValues {
		foldTypeSpecific(dst, next)
	}
	dst.Cardinality = cardinality
	dst.Indexes = nil
	return dst
}

// shardCopy is d as it stands for a shard of one stripe.
func shardCopy(d *metapb.FieldDescriptor) *metapb.FieldDescriptor {
	c := &metapb.FieldDescriptor{
		PositionCount: d.PositionCount, NullCount: d.NullCount, ConstantValue: d.ConstantValue,
		RangeStats: d.RangeStats, Cardinality: d.Cardinality, Indexes: d.Indexes,
		StandardProperties: d.StandardProperties, TypeSpecific: d.TypeSpecific,
		CustomProperties: d.CustomProperties, RawDataSize: d.RawDataSize,
	}
	c = proto.CloneOf(c)
	c.ProtoReflect().SetUnknown(d.ProtoReflect().GetUnknown())
	return c
}

// addCounts is the sum of two counts that may be absent; it is absent if either is, or if it overflows.
func addCounts(a, b *uint64) *uint64 {
	if a == nil || b == nil || *a+*b < *a {
		return nil
	}
	sum := *a + *b
	return &sum
}

// leastOf is the lesser of two counts, or the one that is there.
func leastOf(a, b *uint64) *uint64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

// foldRange widens a by b; nil if either is absent or their bounds have no order.
func foldRange(a, b *metapb.RangeStats) *metapb.RangeStats {
	if a == nil || b == nil {
		return nil
	}
	min, minIn, ok := foldBound(a.MinValue, a.MinInclusive, b.MinValue, b.MinInclusive, -1)
	if !ok {
		return nil
	}
	max, maxIn, ok := foldBound(a.MaxValue, a.MaxInclusive, b.MaxValue, b.MaxInclusive, 1)
	if !ok {
		return nil
	}
	a.MinValue, a.MinInclusive, a.MaxValue, a.MaxInclusive = min, minIn, max, maxIn
	return a
}

// foldBound is the outer one of two bounds, on the side that direction reports (−1 lower, 1 upper).
func foldBound(a *metapb.AnyValue, aIn bool, b *metapb.AnyValue, bIn bool, direction int) (*metapb.AnyValue, bool, bool) {
	switch {
	case b.GetKind() == nil:
		return a, aIn, true
	case a.GetKind() == nil:
		return b, bIn, true
	}
	c, ok := meta.Compare(b, a)
	switch {
	case !ok:
		return nil, false, false
	case c == 0:
		return a, aIn || bIn, true
	case c*direction > 0:
		return b, bIn, true
	}
	return a, aIn, true
}

// foldTypeSpecific adds the counts that belong to the type.
func foldTypeSpecific(dst, next *metapb.FieldDescriptor) {
	switch a := dst.TypeSpecific.(type) {
	case *metapb.FieldDescriptor_StringStats:
		if b := next.GetStringStats(); b != nil {
			foldStrings(a.StringStats, b)
			return
		}
	case *metapb.FieldDescriptor_ListStats:
		if b := next.GetListStats(); b != nil {
			x := a.ListStats
			x.MinLength, x.MaxLength = min(x.MinLength, b.MinLength), max(x.MaxLength, b.MaxLength)
			x.MinNonEmptyLength = leastOf(x.MinNonEmptyLength, b.MinNonEmptyLength)
			return
		}
	case *metapb.FieldDescriptor_BinaryStats:
		if b := next.GetBinaryStats(); b != nil {
			x := a.BinaryStats
			x.MinLength, x.MaxLength = min(x.MinLength, b.MinLength), max(x.MaxLength, b.MaxLength)
			x.MinNonEmptyLength = leastOf(x.MinNonEmptyLength, b.MinNonEmptyLength)
			return
		}
	case *metapb.FieldDescriptor_BooleanStats:
		if b := next.GetBooleanStats(); b != nil {
			a.BooleanStats.TrueCount += b.TrueCount
			a.BooleanStats.FalseCount += b.FalseCount
			return
		}
	case *metapb.FieldDescriptor_DecimalStats:
		if b := next.GetDecimalStats(); b != nil {
			foldDecimals(a.DecimalStats, b)
			return
		}
	case *metapb.FieldDescriptor_FloatingStats:
		if b := next.GetFloatingStats(); b != nil {
			foldFloats(a.FloatingStats, b)
			return
		}
	}
	dst.TypeSpecific = nil
}

func foldStrings(a, b *metapb.StringStats) {
	a.MinSize, a.MaxSize = min(a.MinSize, b.MinSize), max(a.MaxSize, b.MaxSize)
	a.MinNonEmptySize = leastOf(a.MinNonEmptySize, b.MinNonEmptySize)
	a.AsciiCount = addCounts(a.AsciiCount, b.AsciiCount)
}

func foldDecimals(a, b *metapb.DecimalStats) {
	a.ZeroCount += b.ZeroCount
	a.PositiveCount += b.PositiveCount
	a.NegativeCount += b.NegativeCount
	a.NanCount += b.NanCount
}

func foldFloats(a, b *metapb.FloatingStats) {
	a.ZeroCount += b.ZeroCount
	a.PositiveCount += b.PositiveCount
	a.NegativeCount += b.NegativeCount
	a.NanCount += b.NanCount
	a.PositiveInfinityCount += b.PositiveInfinityCount
	a.NegativeInfinityCount += b.NegativeInfinityCount
}

// foldCardinality merges two sketches. Counts can't be added, unless no value is on both sides: where the sketches don't fit
// together, the message stays, empty, as the reference leaves it.
func foldCardinality(a, b *metapb.FieldDescriptor) *metapb.CardinalityInfo {
	if a.Cardinality == nil || b.Cardinality == nil {
		return nil
	}
	merged, ok := MergeSketches(a.Cardinality.HllSketch, b.Cardinality.HllSketch)
	if !ok {
		merged = new(metapb.CardinalityInfo)
	}
	if n, ok := exactTogether(a, b); ok {
		merged.Count, merged.IsEstimate = &n, false
	}
	return merged
}

// exactTogether is the number of different values of two sets that are counted exactly, where statistics prove it: they are one and
// the same constant, or their ranges have no value in common.
func exactTogether(a, b *metapb.FieldDescriptor) (uint64, bool) {
	if !IsExact(a.Cardinality) || !IsExact(b.Cardinality) {
		return 0, false
	}
	if x, y := a.GetBooleanStats(), b.GetBooleanStats(); x != nil && y != nil {
		return min(x.TrueCount+y.TrueCount, 1) + min(x.FalseCount+y.FalseCount, 1), true
	}
	m, n := *a.Cardinality.Count, *b.Cardinality.Count
	switch {
	case m == 1 && n == 1 && a.ConstantValue.GetKind() != nil && meta.Equal(a.ConstantValue, b.ConstantValue):
		return 1, true
	case apart(a, b) && m+n > m:
		return m + n, true
	}
	return 0, false
}

// apart reports whether ranges prove that no value is on both sides. A NaN is in no range.
func apart(a, b *metapb.FieldDescriptor) bool {
	x, y := a.RangeStats, b.RangeStats
	if !below(x.GetMaxValue(), x.GetMaxInclusive(), y.GetMinValue(), y.GetMinInclusive()) &&
		!below(y.GetMaxValue(), y.GetMaxInclusive(), x.GetMinValue(), x.GetMinInclusive()) {
		return false
	}
	switch x.MinValue.Kind.(type) {
	case *metapb.AnyValue_DoubleValue:
		f, g := a.GetFloatingStats(), b.GetFloatingStats()
		return f != nil && g != nil && (f.NanCount == 0 || g.NanCount == 0)
	case *metapb.AnyValue_DecimalValue:
		f, g := a.GetDecimalStats(), b.GetDecimalStats()
		return f != nil && g != nil && (f.NanCount == 0 || g.NanCount == 0)
	}
	return true
}

// below reports whether all that is not above the bound most is less than all that is not below the bound least.
func below(most *metapb.AnyValue, mostIn bool, least *metapb.AnyValue, leastIn bool) bool {
	c, ok := meta.Compare(most, least)
	return ok && (c < 0 || c == 0 && !(mostIn && leastIn))
}
