package layer

import (
	"encoding/binary"
	"math"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// appendOrdered appends bytes whose order is that of the values, and of which none begins another.
func (t Type) appendOrdered(dst []byte, v Value) []byte {
	if t.Optional {
		if v.None {
			return append(dst, 0)
		}
		dst = append(dst, 1)
	}
	be := binary.BigEndian
	switch t.Kind {
	case Bool, I8, I16, I32, I64:
		return be.AppendUint64(dst, uint64(v.Int)^1<<63)
	case Char, U8, U16, U32, U64:
		return be.AppendUint64(dst, v.Uint)
	case I128:
		return be.AppendUint64(be.AppendUint64(dst, uint64(v.Int)^1<<63), v.Uint)
	case U128:
		return be.AppendUint64(be.AppendUint64(dst, uint64(v.Int)), v.Uint)
	case F32, F64:
		return be.AppendUint64(dst, orderedFloat(v.Float))
	case String, Bytes, Opaque:
		for _, c := range v.Bytes {
			if dst = append(dst, c); c == 0 {
				dst = append(dst, 0xFF)
			}
		}
		return append(dst, 0, 0)
	}
	return dst
}

func orderedFloat(f float64) uint64 {
	switch {
	case math.IsNaN(f):
		return math.MaxUint64
	case f == 0:
		return 1 << 63
	case f < 0:
		return ^math.Float64bits(f)
	}
	return math.Float64bits(f) | 1<<63
}

// appendValue appends a value for a spilled record.
func (t Type) appendValue(dst []byte, v Value) []byte {
	if v.None {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	switch t.Kind {
	case Unit:
		return dst
	case F32, F64:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v.Float))
	case String, Bytes, Opaque, List:
		return append(binary.AppendUvarint(dst, uint64(len(v.Bytes))), v.Bytes...)
	}
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, uint64(v.Int)), v.Uint)
}

// takeValue is the way back; it gives what follows the value.
func (t Type) takeValue(b []byte) (v Value, rest []byte, err error) {
	short := corrupt.At(-1, "a spilled record is truncated")
	if len(b) == 0 {
		return v, nil, short
	}
	none, b := b[0] == 0, b[1:]
	switch {
	case none:
		return Value{None: true}, b, nil
	case t.Kind == Unit:
		return v, b, nil
	case t.Kind == F32 || t.Kind == F64:
		if len(b) < 8 {
			return v, nil, short
		}
		v.Float = math.Float64frombits(binary.LittleEndian.Uint64(b))
		return v, b[8:], nil
	case t.Kind == String || t.Kind == Bytes || t.Kind == Opaque || t.Kind == List:
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return v, nil, short
		}
		v.Bytes = b[size : size+int(n)]
		return v, b[size+int(n):], nil
	}
	if len(b) < 16 {
		return v, nil, short
	}
	v.Int, v.Uint = int64(binary.LittleEndian.Uint64(b)), binary.LittleEndian.Uint64(b[8:])
	return v, b[16:], nil
}
