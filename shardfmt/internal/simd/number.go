package simd

import (
	"encoding/binary"
	"unsafe"

	"github.com/shardcat/shardcat/internal/view"
)

// Unsigned is a word that carries the bits of any number of its width.
type Unsigned interface {
	uint8 | uint16 | uint32 | uint64
}

// Number is an element type of a block.
type Number interface {
	int8 | int16 | int32 | int64 | Unsigned | float32 | float64
}

// littleEndian: this machine stores numbers as files do.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// SizeOf is the width of T in bytes: 1, 2, 4 or 8.
func SizeOf[T Number]() int {
	var v T
	return int(unsafe.Sizeof(v))
}

// AsBytes is the memory of v as bytes, in this machine's order.
func AsBytes[T Number](v []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*SizeOf[T]())
}

// Cast is the memory of v as numbers of another type of the same width.
// It panics when the widths differ, a mistake of the caller and never of the data.
func Cast[To, From Number](v []From) []To {
	if SizeOf[To]() != SizeOf[From]() {
		panic("simd: cast between numbers of different widths")
	}
	return view.Of[To](AsBytes(v), len(v))
}

// Tail is the last n numbers of a narrower (or equal) type that fit into the memory of v. Reading them in
// ascending order while writing v in ascending order is safe: the write never overtakes the read.
// n is at most len(v).
func Tail[To, From Unsigned](v []From, n int) []To {
	b := AsBytes(v)
	b = b[len(b)-n*SizeOf[To]():]
	return view.Of[To](b, n)
}

// Load fills dst from little-endian bytes; src holds at least len(dst) numbers.
func Load[T Number](dst []T, src []byte) {
	b := AsBytes(dst)
	copy(b, src[:len(b)])
	FromFile(dst)
}

// FromFile turns numbers whose memory was filled from a file, byte by byte, into this machine's order.
func FromFile[T Number](v []T) {
	if !littleEndian {
		swap(AsBytes(v), SizeOf[T]())
	}
}

// Append appends v to dst as little-endian bytes.
func Append[T Number](dst []byte, v []T) []byte {
	start := len(dst)
	dst = append(dst, AsBytes(v)...)
	if !littleEndian {
		swap(dst[start:], SizeOf[T]())
	}
	return dst
}

// LoadOne is the little-endian number at the start of src.
func LoadOne[T Number](src []byte) T {
	var v [1]T
	Load(v[:], src)
	return v[0]
}

// swap turns every number of size bytes around, between the file's order and a big-endian machine's.
func swap(b []byte, size int) {
	for ; len(b) >= size; b = b[size:] {
		for i, j := 0, size-1; i < j; i, j = i+1, j-1 {
			b[i], b[j] = b[j], b[i]
		}
	}
}
