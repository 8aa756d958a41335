package vparquet

import (
	"encoding/binary"
	"math"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// chunkStats are the statistics of a chunk in the footer. Bounds may be wider than the values.
type chunkStats struct {
	counted   bool
	nulls     int64
	low, high []byte
}

// maxBound is the longest bound of byte strings that is written.
const maxBound = 64

// boundsOf gives the bounds of a leaf by the descriptor of a stripe, none where the order of the shard's values is not that of Parquet's.
func boundsOf(l *leaf, d *metapb.FieldDescriptor) (s chunkStats) {
	if d == nil || l.typed() {
		return s
	}
	if b := d.GetBooleanStats(); b != nil && l.physical == boolean {
		if b.TrueCount+b.FalseCount > 0 {
			s.low, s.high = []byte{0}, []byte{1}
			if b.FalseCount == 0 {
				s.low = s.high
			}
			if b.TrueCount == 0 {
				s.high = s.low
			}
		}
		return s
	}
	r := d.GetRangeStats()
	if r.GetMinValue() == nil || r.GetMaxValue() == nil {
		return s
	}
	if (l.form == asFloat || l.form == asDouble) && (d.GetFloatingStats() == nil || d.GetFloatingStats().NanCount > 0) {
		return s
	}
	low, high := l.bound(r.MinValue, false), l.bound(r.MaxValue, true)
	if low == nil || high == nil {
		return s
	}
	s.low, s.high = low, high
	return s
}

// typed reports whether the table's type of the leaf is not that of its shard's, so that bounds would have to be converted.
func (l *leaf) typed() bool { return l.form == asDate || l.form == asDecimal }

// bound is a value in the PLAIN encoding, without the length of a byte string; nil if it has none.
func (l *leaf) bound(v *metapb.AnyValue, upper bool) []byte {
	switch l.form {
	case asInt, asLong:
		i, ok := signedOf(v)
		switch {
		case !ok:
			return nil
		case l.form == asLong:
			return binary.LittleEndian.AppendUint64(nil, uint64(i))
		case i >= math.MinInt32 && i <= math.MaxInt32:
			return binary.LittleEndian.AppendUint32(nil, uint32(i))
		}
	case asUnsigned:
		if u, ok := v.GetKind().(*metapb.AnyValue_U64Value); ok {
			return binary.BigEndian.AppendUint64([]byte{0}, u.U64Value)
		}
	case asMicros:
		if i, ok := signedOf(v); ok {
			return binary.LittleEndian.AppendUint64(nil, uint64(micros(i)))
		}
	case asFloat, asDouble:
		return l.floatBound(v, upper)
	case asStored:
		return l.bytesBound(v)
	}
	return nil
}

// signedOf reads an integer or ticks.
func signedOf(v *metapb.AnyValue) (int64, bool) {
	switch k := v.GetKind().(type) {
	case *metapb.AnyValue_I64Value:
		return k.I64Value, true
	case *metapb.AnyValue_U64Value:
		return int64(k.U64Value), k.U64Value <= math.MaxInt64
	case *metapb.AnyValue_TimespanValue:
		return int64(k.TimespanValue.GetTicks()), true
	case *metapb.AnyValue_DatetimeValue:
		return int64(k.DatetimeValue.GetTicks()), k.DatetimeValue.GetTicks() <= math.MaxInt64
	}
	return 0, false
}

// floatBound widens zeros, whose signs differ in their order and not as values.
func (l *leaf) floatBound(v *metapb.AnyValue, upper bool) []byte {
	k, ok := v.GetKind().(*metapb.AnyValue_DoubleValue)
	if !ok || math.IsNaN(k.DoubleValue) {
		return nil
	}
	f := k.DoubleValue
	if f == 0 {
		if f = 0; !upper {
			f = math.Copysign(0, -1)
		}
	}
	if l.form == asDouble {
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(f))
	}
	if float64(float32(f)) != f {
		return nil
	}
	return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(f)))
}

func (l *leaf) bytesBound(v *metapb.AnyValue) []byte {
	var b []byte
	switch k := v.GetKind().(type) {
	case *metapb.AnyValue_StringValue:
		b = append([]byte{}, k.StringValue...)
	case *metapb.AnyValue_BytesValue:
		b = append([]byte{}, k.BytesValue...)
	default:
		return nil
	}
	switch n := l.node; {
	case n.Basic == schema.String && len(b) <= maxBound:
		return b
	case n.Basic == schema.Binary && n.Ext == nil && len(b) <= maxBound:
		return b
	case l.physical == fixed && len(b) == l.width && len(b) <= maxBound:
		return b
	}
	return nil
}
