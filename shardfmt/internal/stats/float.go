package stats

import (
	"math"
	"math/bits"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// floats covers both widths, float32 widened. NaN is counted and has no place in the range; the first of
// equal bounds is kept, so that a zero bound has the sign seen first.
type floats struct {
	distinct
	counts   metapb.FloatingStats
	ranged   bool
	min, max float64
	// first and varied report whether all values are the same bits.
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
		panic("stats: " + a.DataType().String() + " is not a canonical float")
	}
}

func addFloats[T float32 | float64](f *floats, a arrow.Array, values []T) {
	eachPresent(a, values, func(some []T) {
		for part := range slices.Chunk(some, spanValues) {
			f.measure(classify(part))
		}
		countFloats(&f.distinct, some)
	})
}

// classes is what values come to by themselves: bounds without NaN, counts by kind, and their bits.
type classes struct {
	n, negative, zeros, nans int
	positiveInf, negativeInf int
	min, max                 float64
	// first is the bits of the first value, differ those in which any other differs from it.
	first, differ uint64
}

// classify looks at values, at least one.
func classify[T float32 | float64](values []T) classes {
	if b, ok := simd.BoundsOf(values); ok {
		return classes{
			n: len(values), negative: b.Negative, zeros: b.Zeros, min: float64(b.Least), max: float64(b.Most),
			first: simd.FloatBits(values[0]), differ: b.Differ,
		}
	}
	return classifyAny(values)
}

// classifyAny is classify of values of which some are infinite or NaN, or may be.
func classifyAny[T float32 | float64](values []T) classes {
	c := classes{n: len(values), first: simd.FloatBits(values[0])}
	least, most := T(math.Inf(1)), T(math.Inf(-1))
	sign, inf := simd.FloatBits(T(math.Copysign(0, -1))), simd.FloatBits(least)
	shift := bits.TrailingZeros64(sign)
	for _, v := range values {
		if v < least {
			least = v
		}
		if v > most {
			most = v
		}
		b := simd.FloatBits(v)
		c.differ |= b ^ c.first
		if b&^sign-1 < inf-1 {
			c.negative += int(b >> shift)
			continue
		}
		switch {
		case v == 0:
			c.zeros++
		case v != v:
			c.nans++
		case v > 0:
			c.positiveInf++
		default:
			c.negativeInf++
		}
	}
	c.min, c.max = float64(least), float64(most)
	return c
}

// measure takes the classes of the next values: infinities are neither positive nor negative in the counts.
func (f *floats) measure(c classes) {
	if !f.any {
		f.any, f.first = true, c.first
	}
	f.varied = f.varied || c.differ|(c.first^f.first) != 0
	f.counts.NanCount += uint64(c.nans)
	f.counts.ZeroCount += uint64(c.zeros)
	f.counts.PositiveInfinityCount += uint64(c.positiveInf)
	f.counts.NegativeInfinityCount += uint64(c.negativeInf)
	f.counts.NegativeCount += uint64(c.negative)
	f.counts.PositiveCount += uint64(c.n - c.negative - c.zeros - c.nans - c.positiveInf - c.negativeInf)
	if c.nans == c.n {
		return
	}
	if !f.ranged {
		f.ranged, f.min, f.max = true, c.min, c.max
	}
	if c.min < f.min {
		f.min = c.min
	}
	if c.max > f.max {
		f.max = c.max
	}
}

// countFloats counts values none of which is null, as countIntegers does.
func countFloats[T float32 | float64](d *distinct, values []T) {
	if !d.wanted() {
		return
	}
	var room [spanValues]int32
	for len(values) > 0 && !d.onlySketched() {
		some := values[:min(len(values), spanValues)]
		values = values[len(some):]
		if whole, least, most, ok := wholeNumbers(some, &room); ok && addSpan(d, whole, least, most, wordOfWhole) {
			continue
		}
		for _, v := range some {
			d.add(floatWord(float64(v)))
		}
	}
	if len(values) == 0 {
		return
	}
	sketchAll(&d.sketch.sketch, values, floatWords[T])
}

// floatWords writes the words of floats, of those that are what the one before is, one.
func floatWords[T float32 | float64](room *sketchRoom, values []T) (n int) {
	last := ^floatWord(float64(values[0]))
	for _, v := range values[:min(len(values), len(room))] {
		w := math.Float64bits(float64(v) + 0) // −0 and +0 make +0
		if v != v {
			w = floatWord(math.NaN())
		}
		if w != last {
			n++
		}
		room[uint(n-1)%uint(len(room))] = w
		last = w
	}
	return n
}

func wordOfWhole(v int32) uint64 { return floatWord(float64(v)) }

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
