package stats

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// IntegerBytes are the bytes that sketches and filters hash for an integer, a time or a span: the value
// widened to 64 bits, little-endian.
func IntegerBytes(v uint64) [8]byte {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	return b
}

// FloatBytes are the bytes that sketches and filters hash for a float: −0 as +0, every NaN alike.
func FloatBytes(v float64) [8]byte { return IntegerBytes(floatWord(v)) }

// floatWord is FloatBytes as a word.
func floatWord(v float64) uint64 {
	if v == 0 {
		v = 0
	}
	if v != v {
		v = math.NaN()
	}
	return math.Float64bits(v)
}

// distinct hashes values for the sketch and the filter of a field.
type distinct struct {
	// sketch is nil where the cardinality isn't wanted.
	sketch *counter
	hashes *hashSet
	any    bool
	// known holds values that were hashed lately, each at its place by a multiplication: keys, dates and quantities repeat
	// few, and a value counts once.
	known [1 << knownBits]uint64
}

// knownBits make 256 places of 8 bytes: little beside the values that exactSet holds of a field.
const knownBits = 8

// wanted reports whether anything is made of the hashes.
func (d *distinct) wanted() bool { return d.sketch != nil || d.hashes != nil }

// onlySketched reports whether nothing but the sketch takes values any more.
func (d *distinct) onlySketched() bool {
	return d.sketch != nil && d.sketch.exact.full && d.hashes.done()
}

func (d *distinct) add(v uint64) {
	k := &d.known[v*0x9E3779B97F4A7C15>>(64-knownBits)] // Fibonacci hashing
	if *k == v {
		return
	}
	d.any, *k = true, v
	if d.sketch != nil {
		h := sketchWord(v)
		if d.onlySketched() {
			d.sketch.sketch.addHash(h)
			return
		}
		if b := IntegerBytes(v); d.sketch.addHashed(h, b[:]) {
			return
		}
	}
	b := IntegerBytes(v)
	d.hashes.add(b[:])
}

// newDistinct is the hashing of a numeric field: the reference writes neither sketch nor filter.
func newDistinct(c *Collector, filterByDefault bool) distinct {
	d := distinct{hashes: c.filterFor(filterByDefault && !c.options.Plain && !c.options.Reference)}
	if !c.options.Reference {
		d.sketch = newCounter(&c.options)
	}
	d.known[0] = 1 // whose place is another: 0, whose place it is, is not known yet
	return d
}

func (d *distinct) info() *metapb.CardinalityInfo {
	if d.sketch == nil || !d.any {
		return nil
	}
	return d.sketch.info()
}

// integers covers signed and unsigned integers, DateTime and TimeSpan. Values are held widened to 64 bits,
// with the sign bit flipped where signed, so that they order as unsigned numbers.
type integers struct {
	distinct
	flip     uint64 // 1<<63 if signed
	any      bool
	min, max uint64
}

func newIntegers(c *Collector) *integers {
	n := &integers{distinct: newDistinct(c, true)}
	if c.node.Signed {
		n.flip = 1 << 63
	}
	return n
}

func (n *integers) add(a arrow.Array) {
	switch v := a.(type) {
	case *array.Int8:
		addIntegers(n, v, v.Int8Values())
	case *array.Int16:
		addIntegers(n, v, v.Int16Values())
	case *array.Int32:
		addIntegers(n, v, v.Int32Values())
	case *array.Int64:
		addIntegers(n, v, v.Int64Values())
	case *array.Uint8:
		addIntegers(n, v, v.Uint8Values())
	case *array.Uint16:
		addIntegers(n, v, v.Uint16Values())
	case *array.Uint32:
		addIntegers(n, v, v.Uint32Values())
	case *array.Uint64:
		addIntegers(n, v, v.Uint64Values())
	default:
		panic("stats: " + a.DataType().String() + " is not a canonical integer")
	}
}

func addIntegers[T simd.Integer](n *integers, a arrow.Array, values []T) {
	eachPresent(a, values, func(some []T) {
		for len(some) > 0 {
			least, most, counted := countIntegers(&n.distinct, some)
			lo, hi := uint64(int64(least))^n.flip, uint64(int64(most))^n.flip // sign-extends signed types, zero-extends unsigned ones
			if !n.any {
				n.any, n.min, n.max = true, lo, hi
			}
			n.min, n.max = min(n.min, lo), max(n.max, hi)
			some = some[counted:]
		}
	})
}

// eachPresent calls do with the values of an array that are not null, some of them at a time, at least one: all at once if none is null.
func eachPresent[T simd.Number](a arrow.Array, values []T, do func(some []T)) {
	if a.NullN() == 0 {
		do(values)
		return
	}
	var room [1024]T
	valid, from := a.Data().Buffers()[0].Bytes(), a.Data().Offset()
	for at := 0; at < len(values); at += len(room) {
		part := values[at:min(at+len(room), len(values))]
		if some := simd.CompactNumbers(room[:], part, valid, from+at); len(some) > 0 {
			do(some)
		}
	}
}

// countIntegers counts some of values none of which is null, from the first on, and gives their extremes and how many they are. Where there are too many
// for all but the sketch, they are hashed one after the other, which costs less than to find out which of them were hashed lately.
func countIntegers[T simd.Integer](d *distinct, values []T) (least, most T, counted int) {
	switch {
	case !d.wanted():
	case d.onlySketched():
		sketchAll(&d.sketch.sketch, values, integerWords[T])
	default:
		values = values[:min(len(values), spanValues)]
		least, most = simd.Extremes(values)
		if !addSpan(d, values, least, most, wordOf[T]) {
			for _, v := range values {
				d.add(uint64(int64(v)))
			}
		}
		return least, most, len(values)
	}
	least, most = simd.Extremes(values)
	return least, most, len(values)
}

// integerWords is floatWords for integers.
func integerWords[T simd.Integer](room *sketchRoom, values []T) (n int) {
	last := values[0]
	n = 1
	for _, v := range values[:min(len(values), len(room))] {
		if v != last {
			n++
		}
		room[uint(n-1)%uint(len(room))] = uint64(int64(v))
		last = v
	}
	return n
}

func wordOf[T simd.Integer](v T) uint64 { return uint64(int64(v)) }

func (n *integers) describe(c *Collector, d *metapb.FieldDescriptor) uint64 {
	d.RangeStats = &metapb.RangeStats{MinInclusive: true, MaxInclusive: true}
	if n.any {
		d.RangeStats.MinValue, d.RangeStats.MaxValue = n.value(n.min), n.value(n.max)
		if n.min == n.max {
			c.constant(d, n.value(n.min))
		}
	}
	d.Cardinality = n.info()
	if c.options.Bloom == BloomAlways || n.scattered() {
		d.MembershipFilters = c.filter(n.hashes)
	}
	return width(c.node) * (c.positions - c.nulls)
}

// scatter is how many times wider than dense the values must lie for a filter of their own: below, the
// range and the block ranges tell as much.
const scatter = 16

func (n *integers) scattered() bool {
	return n.hashes != nil && !n.hashes.full && (n.max-n.min)/scatter >= uint64(n.hashes.count)
}

func (n *integers) value(flipped uint64) *metapb.AnyValue {
	v := flipped ^ n.flip
	if n.flip != 0 {
		return &metapb.AnyValue{Kind: &metapb.AnyValue_I64Value{I64Value: int64(v)}}
	}
	return &metapb.AnyValue{Kind: &metapb.AnyValue_U64Value{U64Value: v}}
}

// width of a value in bytes.
func width(n *schema.Node) uint64 {
	switch n.Basic {
	case schema.Int8:
		return 1
	case schema.Int16:
		return 2
	case schema.Int32, schema.Float32:
		return 4
	}
	return 8
}
