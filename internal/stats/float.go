package stats

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/metapb"
)

// floats covers both widths, float32 widened. NaN is counted and has no place in the range; the first of
// equal bounds is kept, so that a zero bound has the sign seen first.
type floats struct {
	distinct
	counts   metapb.FloatingStats
	ranged   bool
	min, max float64
	// first and varied tell whether all values are the same bits.
	first  uint64
	any    bool
	varied bool
}

func newFloats(c *Collector) *floats { return &floats{distinct: newDistinct(c, false)} }

func (f *floats) add(a arrow.Array) {
	switch v := a.(type) {
	case *array.Float32:
		addFloats(f, v, v.Float32Values())
	case *array.Float64:
		addFloats(f, v, v.Float64Values())
	default:
		panic("stats: " + a.DataType().String() + " is no canonical float")
	}
}

func addFloats[T float32 | float64](f *floats, a arrow.Array, values []T) {
	eachPresent(a, values, func(some []T) {
		for _, v := range some {
			f.one(float64(v))
		}
	})
}

func (f *floats) one(v float64) {
	bits := math.Float64bits(v)
	if !f.any {
		f.any, f.first = true, bits
	}
	f.varied = f.varied || bits != f.first
	f.distinct.add(floatWord(v))
	if v != v {
		f.counts.NanCount++
		return
	}
	if !f.ranged {
		f.ranged, f.min, f.max = true, v, v
	}
	if v < f.min {
		f.min = v
	}
	if v > f.max {
		f.max = v
	}
	f.count(v)
}

// count classifies what is no NaN: infinities are neither positive nor negative here.
func (f *floats) count(v float64) {
	switch {
	case math.IsInf(v, 1):
		f.counts.PositiveInfinityCount++
	case math.IsInf(v, -1):
		f.counts.NegativeInfinityCount++
	case v > 0:
		f.counts.PositiveCount++
	case v < 0:
		f.counts.NegativeCount++
	default:
		f.counts.ZeroCount++
	}
}

func (f *floats) describe(c *Collector, d *metapb.FieldDescriptor) uint64 {
	d.RangeStats = &metapb.RangeStats{MinInclusive: true, MaxInclusive: true}
	if f.ranged {
		d.RangeStats.MinValue, d.RangeStats.MaxValue = doubleValue(f.min), doubleValue(f.max)
	}
	if f.any && !f.varied && f.counts.NanCount == 0 {
		c.constant(d, doubleValue(f.min))
	}
	d.TypeSpecific = &metapb.FieldDescriptor_FloatingStats{FloatingStats: &f.counts}
	d.Cardinality = f.info()
	d.MembershipFilters = c.filter(f.hashes)
	return width(c.node) * (c.positions - c.nulls)
}

func doubleValue(v float64) *metapb.AnyValue {
	return &metapb.AnyValue{Kind: &metapb.AnyValue_DoubleValue{DoubleValue: v}}
}
