package stats

import (
	"bytes"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/decimal"
	"github.com/shardcat/shardcat/shardfmt/metapb"
)

// DecimalBytes are the bytes that sketches and filters hash for a decimal: those of the member of its
// cohort with the fewest digits. Every zero is hashed as 0, every NaN as the quiet NaN.
func DecimalBytes(v decimal.Value) [decimal.Size]byte {
	if v.IsNaN() {
		return decimal.NaN
	}
	coefficient, exponent, finite := v.Coefficient()
	if !finite {
		return v
	}
	if coefficient.Sign() == 0 {
		return decimal.Zero
	}
	digits := coefficient.String()
	short := bytes.TrimRight([]byte(digits), "0")
	drop := min(len(digits)-len(short), decimal.MaxExponent-exponent)
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(drop)), nil)
	w, _ := decimal.FromScaled(coefficient.Quo(coefficient, unit), -(exponent + drop))
	return w
}

// decimals counts and bounds decimals. NaN is counted and has no place in the range.
type decimals struct {
	counts   metapb.DecimalStats
	sketch   *sketch
	hashes   *hashSet
	ranged   bool
	min, max decimal.Value
	any      bool
	first    decimal.Value
	last     decimal.Value
	varied   bool
}

func newDecimals(c *Collector) *decimals {
	d := &decimals{hashes: c.filterFor(false)}
	if !c.options.Reference {
		d.sketch = new(sketch)
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

func (s *decimals) one(v decimal.Value) {
	repeated := s.any && v == s.last
	if !s.any {
		s.any, s.first = true, v
	}
	s.last = v
	s.varied = s.varied || v != s.first
	switch {
	case v.IsNaN():
		s.counts.NanCount++
	case v.Sign() == 0:
		s.counts.ZeroCount++
	case v.Sign() > 0:
		s.counts.PositiveCount++
	default:
		s.counts.NegativeCount++
	}
	if repeated {
		return
	}
	s.hash(v)
	if !v.IsNaN() {
		s.bound(v)
	}
}

func (s *decimals) hash(v decimal.Value) {
	if s.sketch == nil && s.hashes == nil {
		return
	}
	b := DecimalBytes(v)
	if s.sketch != nil {
		s.sketch.add(b[:])
	}
	s.hashes.add(b[:])
}

func (s *decimals) bound(v decimal.Value) {
	if !s.ranged {
		s.ranged, s.min, s.max = true, v, v
		return
	}
	if decimal.Compare(v, s.min) < 0 {
		s.min = v
	}
	if decimal.Compare(v, s.max) > 0 {
		s.max = v
	}
}

func (s *decimals) describe(c *Collector, d *metapb.FieldDescriptor) uint64 {
	d.RangeStats = &metapb.RangeStats{MinInclusive: true, MaxInclusive: true}
	if s.ranged {
		d.RangeStats.MinValue, d.RangeStats.MaxValue = decimalValue(s.min), decimalValue(s.max)
	}
	if s.any && !s.varied && s.ranged {
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
