package stats

import (
	"bytes"
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/decimal"
	"github.com/shardcat/shardcat/shardfmt/metapb"
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
	first  decimal.Value
	varied bool
	// known holds values that were hashed and bounded before, each at its place by recall: columns of prices, rates and
	// quantities repeat few of them.
	known [1 << recallBits]knownDecimal
}

type knownDecimal struct {
	v     decimal.Value
	class decimal.Class
	used  bool
}

// recallBits make 512 places of 24 bytes: a quarter of a first-level cache.
const recallBits = 9

// recall is the place of a value among the known.
func recall(v *decimal.Value) int {
	low, high := binary.LittleEndian.Uint64(v[:8]), binary.LittleEndian.Uint64(v[8:])
	return int((low ^ high>>46) * 0x9E3779B97F4A7C15 >> (64 - recallBits)) // Fibonacci hashing
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
	for i := range v.Len() {
		if v.IsValid(i) {
			s.one(decimal.From(v.Value(i)))
		}
	}
}

func (s *decimals) many(b []byte, n uint64) { s.take(decimal.From(b), n) }

func (s *decimals) one(v decimal.Value) { s.take(v, 1) }

// take takes a value that comes n times.
func (s *decimals) take(v decimal.Value, n uint64) {
	if !s.any {
		s.any, s.first = true, v
	}
	s.varied = s.varied || v != s.first
	k := &s.known[recall(&v)]
	if !k.used || k.v != v {
		*k = knownDecimal{v: v, class: s.bounds.Add(v), used: true}
		s.hash(v)
	}
	switch k.class {
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

func (s *decimals) hash(v decimal.Value) {
	if s.sketch == nil && s.hashes == nil {
		return
	}
	b := DecimalBytes(v)
	if s.sketch != nil && s.sketch.addHashed(sketchTwo(binary.LittleEndian.Uint64(b[:8]), binary.LittleEndian.Uint64(b[8:])), b[:]) {
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
		c.constant(d, decimalValue(s.first))
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
