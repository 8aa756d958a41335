package manifest

import (
	"bytes"
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Bounds are kept short: so many code points of a string and so many bytes of a binary, as Iceberg's own
// writers do by default.
const boundLength = 16

const (
	// epochTicks is 1970-01-01 in 100 ns ticks since 0001-01-01.
	epochTicks = literal.UnixEpoch
	// ticksPerMicro is the number of ticks in Iceberg's unit of time.
	ticksPerMicro = 10
)

// encodeBound gives Iceberg's single-value form of a bound of the values of n, v being nil or a value as shardfmt.FieldSummary has it:
// a lower bound is never above, an upper one never below any value that v bounds. nil means that there is none.
func encodeBound(n *schema.Node, v any, upper bool) []byte {
	switch n.Basic {
	case schema.Boolean:
		return boolBound(v)
	case schema.Int8, schema.Int16, schema.Int32, schema.Int64:
		return integerBound(n, v)
	case schema.DateTime:
		return timeBound(v, upper)
	case schema.Float32, schema.Float64:
		return floatBound(n, v, upper)
	case schema.String:
		if s, ok := textOf(v); ok && utf8.Valid(s) {
			return cutText(s, upper)
		}
	case schema.Binary:
		if b, ok := textOf(v); ok && n.Ext == nil {
			return cutBinary(b, upper)
		}
	case schema.FixedSizeBinary, schema.Guid:
		if b, ok := textOf(v); ok && !n.IsDecimal() && len(b) == int(n.FixedSize) {
			return b
		}
	}
	return nil
}

func boolBound(v any) []byte {
	b, ok := v.(bool)
	if !ok {
		return nil
	}
	if b {
		return []byte{1}
	}
	return []byte{0}
}

// integerBound writes a bound as the Iceberg integer that the node maps to.
func integerBound(n *schema.Node, v any) []byte {
	if !n.Signed {
		u, ok := unsignedOf(v)
		switch {
		case !ok:
			return nil
		case n.Basic == schema.Int64:
			return bigEndian(u)
		case n.Basic == schema.Int32 && u <= math.MaxUint32:
			return appendLong(int64(u))
		case n.Basic < schema.Int32 && u <= math.MaxUint16:
			return appendInt(int32(u))
		}
		return nil
	}
	i, ok := signedOf(v)
	switch {
	case !ok:
		return nil
	case n.Basic == schema.Int64:
		return appendLong(i)
	case i >= math.MinInt32 && i <= math.MaxInt32:
		return appendInt(int32(i))
	}
	return nil
}

// signedOf reads an integer of any kind that writers use for a signed field.
func signedOf(v any) (int64, bool) {
	switch k := v.(type) {
	case int64:
		return k, true
	case uint64:
		return int64(k), k <= math.MaxInt64
	case shardfmt.TimeSpan:
		return int64(k), true
	}
	return 0, false
}

// unsignedOf reads an integer of any kind that writers use for an unsigned field or a DateTime.
func unsignedOf(v any) (uint64, bool) {
	switch k := v.(type) {
	case uint64:
		return k, true
	case int64:
		return uint64(k), k >= 0
	case shardfmt.DateTime:
		return uint64(k), true
	}
	return 0, false
}

// timeBound rounds ticks outwards to Iceberg's microseconds.
func timeBound(v any, upper bool) []byte {
	u, ok := unsignedOf(v)
	if !ok || u > math.MaxInt64 {
		return nil
	}
	return appendLong(shardfmt.DateTime(u).UnixMicro(upper))
}

// ticksOfMicros converts microseconds since 1970 to ticks since year 1.
func ticksOfMicros(micros int64) int64 { return micros*ticksPerMicro + epochTicks }

// floatBound widens zeros, since ±0 are equal as values but not as bounds.
func floatBound(n *schema.Node, v any, upper bool) []byte {
	f, ok := v.(float64)
	if !ok || math.IsNaN(f) {
		return nil
	}
	if f == 0 {
		f = 0
		if !upper {
			f = math.Copysign(0, -1)
		}
	}
	if n.Basic == schema.Float64 {
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(f))
	}
	if float64(float32(f)) != f {
		return nil
	}
	return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(f)))
}

func textOf(v any) ([]byte, bool) {
	switch k := v.(type) {
	case string:
		return []byte(k), true
	case []byte:
		return k, true
	}
	return nil, false
}

// cutText cuts at boundLength code points. A cut upper bound has its last code point raised, so that it still
// lies above; nil if no code point can be raised.
func cutText(s []byte, upper bool) []byte {
	end := 0
	for range boundLength {
		if end == len(s) {
			return s
		}
		_, size := utf8.DecodeRune(s[end:])
		end += size
	}
	if end == len(s) || !upper {
		return s[:end]
	}
	for s = s[:end]; len(s) > 0; {
		last, size := utf8.DecodeLastRune(s)
		s = s[:len(s)-size]
		if raised, ok := nextRune(last); ok {
			return utf8.AppendRune(bytes.Clone(s), raised)
		}
	}
	return nil
}

// nextRune is the code point after r, past the surrogates.
func nextRune(r rune) (rune, bool) {
	switch r {
	case utf8.MaxRune:
		return 0, false
	case 0xD7FF:
		return 0xE000, true
	}
	return r + 1, true
}

func cutBinary(b []byte, upper bool) []byte {
	if len(b) <= boundLength {
		return b
	}
	b = bytes.Clone(b[:boundLength])
	if !upper {
		return b
	}
	for ; len(b) > 0; b = b[:len(b)-1] {
		if last := len(b) - 1; b[last] < math.MaxUint8 {
			b[last]++
			return b
		}
	}
	return nil
}

func appendInt(v int32) []byte  { return binary.LittleEndian.AppendUint32(nil, uint32(v)) }
func appendLong(v int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(v)) }

// bigEndian is the shortest two's complement of u, most significant byte first: Iceberg's form of a decimal.
func bigEndian(u uint64) []byte {
	b := binary.BigEndian.AppendUint64([]byte{0}, u)
	for len(b) > 1 && b[0] == 0 && b[1] < 0x80 {
		b = b[1:]
	}
	return b
}
