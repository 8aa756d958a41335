package stats

import (
	"bytes"
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// DecimalBytes are the bytes that sketches and filters hash for a decimal: those of the member of its
// cohort with the fewest digits. Every zero is hashed as 0, every NaN as the quiet NaN.
func DecimalBytes(v decimal.Value) [decimal.Size]byte { return v.Short() }

// decimals counts and bounds decimals. NaN is counted and has no place in the range.
type decimals struct {
	counts metapb.DecimalStats
	sketch *counter
	hashes *hashSet
	bounds decimal.Bounds
	any    bool
	varied bool
	// first is the first value.
	first twoWords
	// known holds values that were hashed and bounded before, each at its place by recall: columns of prices, rates and
	// quantities repeat few of them.
	known [1 << recallBits]knownDecimal
}

// twoWords are a decimal's decimal.Value.Words.
type twoWords struct{ low, high uint64 }

type knownDecimal struct {
	v     twoWords
	class decimal.Class
	used  bool
}

// recallBits make 512 places of 24 bytes: a quarter of a first-level cache.
const recallBits = 9

// recall is the place of a value among the known.
func recall(v twoWords) uint64 {
	return (v.low ^ v.high>>46) * 0x9E3779B97F4A7C15 >> (64 - recallBits) // Fibonacci hashing
}

func newDecimals(c *Collector) *decimals {
	d := &decimals{hashes: c.filterFor(false)}
	if !c.options.Reference {
		d.sketch = newCounter(&c.options)
	}
	return d
}

func (s *decimals) add(a arrow.Array) {
	v := a.(*array.FixedSizeBinary)
	d := v.Data()
	data, nullable := d.Buffers()[1].Bytes()[d.Offset()*decimal.Size:], v.NullN() > 0
	for i := range v.Len() {
		if !nullable || v.IsValid(i) {
			s.take(wordsOf(data[i*decimal.Size:]), 1)
		}
	}
}

func (s *decimals) many(b []byte, n uint64) { s.take(wordsOf(b), n) }

// wordsOf are the words of the decimal at the start of b.
func wordsOf(b []byte) twoWords {
	b = b[:decimal.Size]
	return twoWords{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
}

// take takes a value that comes n times.
func (s *decimals) take(v twoWords, n uint64) {
	if !s.varied {
		if !s.any {
			s.any, s.first = true, v
		}
		s.varied = v != s.first
	}
	switch s.note(v) {
	case decimal.NotANumber:
		s.counts.NanCount += n
	case decimal.ZeroValue:
		s.counts.ZeroCount += n
	case decimal.Positive:
		s.counts.PositiveCount += n
	default:
		s.counts.NegativeCount += n
	}
}

// note hashes and bounds a value, unless it is known, and gives its class. Values that only the sketch takes any more are too many to
// be known.
func (s *decimals) note(v twoWords) decimal.Class {
	if s.sketch != nil && s.sketch.exact.full && s.hashes.done() {
		s.sketch.sketch.addHash(sketchTwo(decimal.ShortWords(v.low, v.high)))
		return s.bounds.AddWords(v.low, v.high)
	}
	k := &s.known[recall(v)]
	if !k.used || k.v != v {
		*k = knownDecimal{v: v, class: s.bounds.AddWords(v.low, v.high), used: true}
		s.hash(v)
	}
	return k.class
}

func (s *decimals) hash(v twoWords) {
	if s.sketch == nil && s.hashes == nil {
		return
	}
	low, high := decimal.ShortWords(v.low, v.high)
	b := decimal.FromWords(low, high)
	if s.sketch != nil && s.sketch.addHashed(sketchTwo(low, high), b[:]) {
		return
	}
	s.hashes.add(b[:])
}

func (s *decimals) describe(c *Collector, d *metapb.FieldDescriptor) uint64 {
	d.RangeStats = &metapb.RangeStats{MinInclusive: true, MaxInclusive: true}
	if s.bounds.Any {
		d.RangeStats.MinValue, d.RangeStats.MaxValue = decimalValue(s.bounds.Min), decimalValue(s.bounds.Max)
	}
	if s.any && !s.varied && s.bounds.Any {
		c.constant(d, decimalValue(decimal.FromWords(s.first.low, s.first.high)))
	}
	d.TypeSpecific = &metapb.FieldDescriptor_DecimalStats{DecimalStats: &s.counts}
	if s.sketch != nil && s.any {
		d.Cardinality = s.sketch.info()
	}
	d.MembershipFilters = c.filter(s.hashes)
	return decimal.Size * (c.positions - c.nulls)
}

func decimalValue(v decimal.Value) *metapb.AnyValue {
	return &metapb.AnyValue{Kind: &metapb.AnyValue_DecimalValue{DecimalValue: bytes.Clone(v[:])}}
}
