package layer

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Value is a key or an auxiliary value. Which of its parts counts depends on the kind.
type Value struct {
	// None: an optional value that is absent.
	None bool
	// Int holds I8 to I64, Bool as 0 or 1, and the upper half of I128 and U128.
	Int int64
	// Uint holds U8 to U64, Char, and the lower half of I128 and U128.
	Uint uint64
	// Float holds F32 and F64.
	Float float64
	// Bytes holds String, Bytes, Opaque, and List as it is stored.
	Bytes []byte
}

// compare orders values as Rust does: absent ones first, NaN behind all other floats, −0 equal to 0.
func (t Type) compare(a, b Value) int {
	if a.None || b.None {
		switch {
		case a.None && b.None:
			return 0
		case a.None:
			return -1
		}
		return 1
	}
	switch t.Kind {
	case Bool, I8, I16, I32, I64:
		return cmp.Compare(a.Int, b.Int)
	case Char, U8, U16, U32, U64:
		return cmp.Compare(a.Uint, b.Uint)
	case I128:
		return cmp.Or(cmp.Compare(a.Int, b.Int), cmp.Compare(a.Uint, b.Uint))
	case U128:
		return cmp.Or(cmp.Compare(uint64(a.Int), uint64(b.Int)), cmp.Compare(a.Uint, b.Uint))
	case F32, F64:
		return compareFloats(a.Float, b.Float)
	case String, Bytes, Opaque, List:
		return bytes.Compare(a.Bytes, b.Bytes)
	}
	return 0
}

func compareFloats(a, b float64) int {
	if x, y := math.IsNaN(a), math.IsNaN(b); x || y {
		switch {
		case x && y:
			return 0
		case x:
			return 1
		}
		return -1
	}
	return cmp.Compare(a, b)
}

// outside is the bytes of a value in front of its record. An opaque value may come with some.
func (t Type) outside(v Value) []byte {
	switch {
	case v.None:
	case t.Kind == Bytes, t.Kind == List, t.Kind == String && len(v.Bytes) > maxInline:
		return v.Bytes
	case t.Kind == Opaque && len(v.Bytes) > t.Size:
		return v.Bytes[:len(v.Bytes)-t.Size]
	}
	return nil
}

// maxInline is how many bytes of a string its record holds.
const maxInline = 15

// put writes the record at dst[at:], which is zero; the bytes of the value lie at outside.
func (t Type) put(dst []byte, at int, v Value, outside int) {
	if t.Optional {
		if v.None {
			return
		}
		dst[at] = 1
		at += t.align()
	}
	b := dst[at:]
	switch t.Kind {
	case Bool, I8:
		b[0] = byte(v.Int)
	case U8:
		b[0] = byte(v.Uint)
	case I16:
		binary.LittleEndian.PutUint16(b, uint16(v.Int))
	case U16:
		binary.LittleEndian.PutUint16(b, uint16(v.Uint))
	case I32:
		binary.LittleEndian.PutUint32(b, uint32(v.Int))
	case U32, Char:
		binary.LittleEndian.PutUint32(b, uint32(v.Uint))
	case I64:
		binary.LittleEndian.PutUint64(b, uint64(v.Int))
	case U64:
		binary.LittleEndian.PutUint64(b, v.Uint)
	case I128, U128:
		binary.LittleEndian.PutUint64(b, v.Uint)
		binary.LittleEndian.PutUint64(b[8:], uint64(v.Int))
	case F32:
		binary.LittleEndian.PutUint32(b, math.Float32bits(float32(v.Float)))
	case F64:
		binary.LittleEndian.PutUint64(b, math.Float64bits(v.Float))
	case String:
		if len(v.Bytes) <= maxInline {
			copy(b, v.Bytes)
			b[15] = byte(len(v.Bytes))
			return
		}
		binary.LittleEndian.PutUint64(b, uint64(len(v.Bytes)))
		binary.LittleEndian.PutUint64(b[8:], uint64(int64(outside-at)))
	case Bytes, List:
		binary.LittleEndian.PutUint64(b, uint64(int64(outside-at)))
		binary.LittleEndian.PutUint64(b[8:], uint64(len(v.Bytes)))
	case Opaque:
		copy(b, v.Bytes[max(len(v.Bytes)-t.Size, 0):])
	}
}

// get reads the record at block[at:]. Byte strings are parts of the block.
func (t Type) get(block []byte, at int) (v Value, err error) {
	if at < blockHeader || at+t.size() > len(block) {
		return v, corrupt.At(int64(at), "a value of %s at byte %d of a block of %d", t, at, len(block))
	}
	if t.Optional {
		switch block[at] {
		case 0:
			return Value{None: true}, nil
		case 1:
		default:
			return v, corrupt.At(int64(at), "invalid presence flag %d of a value: must be 0 or 1", block[at])
		}
		at += t.align()
	}
	b := block[at:]
	switch t.Kind {
	case Bool:
		if b[0] > 1 {
			return v, corrupt.At(int64(at), "%d is not a valid bool", b[0])
		}
		v.Int = int64(b[0])
	case I8:
		v.Int = int64(int8(b[0]))
	case U8:
		v.Uint = uint64(b[0])
	case I16:
		v.Int = int64(int16(binary.LittleEndian.Uint16(b)))
	case U16:
		v.Uint = uint64(binary.LittleEndian.Uint16(b))
	case I32:
		v.Int = int64(int32(binary.LittleEndian.Uint32(b)))
	case U32:
		v.Uint = uint64(binary.LittleEndian.Uint32(b))
	case Char:
		if v.Uint = uint64(binary.LittleEndian.Uint32(b)); v.Uint > math.MaxInt32 || !utf8.ValidRune(rune(v.Uint)) {
			return v, corrupt.At(int64(at), "%#x is not a character", v.Uint)
		}
	case I64:
		v.Int = int64(binary.LittleEndian.Uint64(b))
	case U64:
		v.Uint = binary.LittleEndian.Uint64(b)
	case I128, U128:
		v.Uint, v.Int = binary.LittleEndian.Uint64(b), int64(binary.LittleEndian.Uint64(b[8:]))
	case F32:
		v.Float = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case F64:
		v.Float = math.Float64frombits(binary.LittleEndian.Uint64(b))
	case Opaque:
		v.Bytes = b[:t.Size]
	case String, Bytes:
		v.Bytes, err = t.text(block, at)
	case List:
		if v.Bytes, err = t.text(block, at); err == nil {
			err = t.elements(v.Bytes, func(_, _ Value) error { return nil })
		}
	}
	return v, err
}

// text reads a byte string, whose record is at block[at:].
func (t Type) text(block []byte, at int) ([]byte, error) {
	b := block[at:]
	var out []byte
	if t.Kind == String && b[15] < 0x80 {
		if b[15] > maxInline {
			return nil, corrupt.At(int64(at), "a string of %d bytes in 15", b[15])
		}
		out = b[:b[15]]
	} else {
		first, second := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		length, distance := first, int64(second)
		if t.Kind != String {
			length, distance = second, int64(first)
		}
		start := int64(at) + distance
		if distance > int64(len(block)) || distance < -int64(at) || start < blockHeader || length > uint64(len(block))-uint64(start) {
			return nil, corrupt.At(int64(at), "%d bytes at distance %d, outside the block", length, distance)
		}
		out = block[start : uint64(start)+length]
	}
	if t.Kind == String && !utf8.Valid(out) {
		return nil, corrupt.At(int64(at), "a string that is not UTF-8")
	}
	return out, nil
}

// appendHash appends what Rust's Hash feeds to a hasher.
func (t Type) appendHash(dst []byte, v Value) []byte {
	if t.Optional {
		if v.None {
			return binary.LittleEndian.AppendUint64(dst, 0)
		}
		dst = binary.LittleEndian.AppendUint64(dst, 1)
	}
	switch t.Kind {
	case Unit:
		return dst
	case String:
		return append(append(dst, v.Bytes...), 0xFF)
	case Bytes:
		return append(binary.LittleEndian.AppendUint64(dst, uint64(len(v.Bytes))), v.Bytes...)
	case F32, F64:
		return binary.LittleEndian.AppendUint64(dst, t.floatHash(v.Float))
	}
	var record [16]byte
	plain := Type{Kind: t.Kind}
	if t.Kind == Opaque {
		return append(dst, v.Bytes...)
	}
	plain.put(record[:], 0, v, 0)
	return append(dst, record[:plain.bare()]...)
}

// floatHash packs a float's mantissa (bits 0 to 51), its exponent as a whole number (52 to 62) and whether it is
// positive (63).
func (t Type) floatHash(f float64) uint64 {
	if math.IsNaN(f) {
		return 0x7FF8000000000000
	}
	if f == 0 {
		f = 0 // −0 is 0
	}
	mantissaBits, bias, bits := 52, 1075, math.Float64bits(f)
	if t.Kind == F32 {
		mantissaBits, bias, bits = 23, 150, uint64(math.Float32bits(float32(f)))
	}
	mantissa := bits & (1<<mantissaBits - 1)
	exponent := int(bits>>mantissaBits) & (1<<map[int]int{52: 11, 23: 8}[mantissaBits] - 1)
	if exponent == 0 {
		mantissa <<= 1
	} else {
		mantissa |= 1 << mantissaBits
	}
	positive := uint64(1)
	if math.Signbit(f) {
		positive = 0
	}
	return mantissa&(1<<52-1) | uint64(uint16(exponent-bias))<<52&0x7FF0000000000000 | positive<<63
}
