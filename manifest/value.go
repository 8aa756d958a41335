package manifest

import (
	"encoding/binary"
	"math"

	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// boundValue is Bound as filters take it: nil if the bytes are no value of that type.
func boundValue(n *schema.Node, b []byte) *filter.Value {
	v, ok := Bound(n, b)
	if !ok {
		return nil
	}
	return &v
}

// Bound reads a bound back, in the form in which filters compare values of n; false if the bytes are no value
// of that type. A timestamp's bound is exact to the microsecond, which is why bounds are inclusive.
func Bound(n *schema.Node, b []byte) (v filter.Value, ok bool) {
	if b == nil {
		return v, false
	}
	switch n.Basic {
	case schema.Boolean:
		if len(b) == 1 {
			return filter.Value{Bool: b[0] != 0}, true
		}
	case schema.Int8, schema.Int16, schema.Int32, schema.Int64:
		return integerValue(n, b)
	case schema.DateTime:
		return timeValue(b)
	case schema.Float32, schema.Float64:
		return floatValue(b)
	case schema.String, schema.Binary, schema.Guid:
		return filter.Value{Bytes: b}, true
	case schema.FixedSizeBinary:
		if !n.IsDecimal() {
			return filter.Value{Bytes: b}, true
		}
	}
	return v, false
}

func integerValue(n *schema.Node, b []byte) (v filter.Value, ok bool) {
	if n.Basic == schema.Int64 && !n.Signed {
		return unsignedValue(b)
	}
	i, ok := integer(b)
	switch {
	case !ok || !n.Signed && i < 0:
		return v, false
	case n.Signed:
		return filter.Value{Int: i}, true
	}
	return filter.Value{Uint: uint64(i)}, true
}

// integer reads an int or a long: a promoted column has bounds of both widths.
func integer(b []byte) (int64, bool) {
	switch len(b) {
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(b))), true
	case 8:
		return int64(binary.LittleEndian.Uint64(b)), true
	}
	return 0, false
}

func unsignedValue(b []byte) (v filter.Value, ok bool) {
	if len(b) == 0 || b[0] >= 0x80 {
		return v, false
	}
	for _, c := range b {
		if v.Uint > math.MaxUint64>>8 {
			return v, false
		}
		v.Uint = v.Uint<<8 | uint64(c)
	}
	return v, true
}

// timeValue reads a timestamp (8 bytes, microseconds) or a date (4 bytes, days).
func timeValue(b []byte) (v filter.Value, ok bool) {
	i, ok := integer(b)
	if !ok {
		return v, false
	}
	if len(b) == 4 {
		i *= microsPerDay
	}
	if i > (math.MaxInt64-epochTicks)/ticksPerMicro || i < -epochTicks/ticksPerMicro {
		return v, false
	}
	return filter.Value{Int: ticksOfMicros(i)}, true
}

const microsPerDay = 24 * 60 * 60 * 1_000_000

func floatValue(b []byte) (v filter.Value, ok bool) {
	var f float64
	switch len(b) {
	case 4:
		f = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case 8:
		f = math.Float64frombits(binary.LittleEndian.Uint64(b))
	default:
		return v, false
	}
	if math.IsNaN(f) {
		return v, false
	}
	return filter.Value{Float: f}, true
}
