package encode

import (
	"unsafe"

	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// word is the bits of a value. Inside this package integers and floats alike are handled as their bits;
// kind reports what they mean. This is what makes float comparisons exact, and keeps the number of
// instantiated functions at four.
type word = simd.Unsigned

// kind is what the bits of a stream mean.
type kind uint8

const (
	unsigned kind = iota
	signed
	float
)

// sizeOf is the width of a word in bytes.
func sizeOf[U word]() int { return simd.SizeOf[U]() }

// bitsOf is the width of a word in bits.
func bitsOf[U word]() int { return 8 * sizeOf[U]() }

// kindOf reports what the bits of T mean.
func kindOf[T simd.Number]() kind {
	switch any(*new(T)).(type) {
	case float32, float64:
		return float
	case int8, int16, int32, int64:
		return signed
	}
	return unsigned
}

// arena hands out short-lived slices, stack fashion: what was taken after mark goes back at release.
// Slices stay valid when the arena has to grow, so they may be used until their release.
type arena struct {
	words []uint64
	used  int
}

// take gives n words of arbitrary content.
func take[U simd.Number](a *arena, n int) []U {
	need := (n*simd.SizeOf[U]() + 7) / 8
	if a.used+need > len(a.words) {
		grown := max(2*len(a.words), a.used+need, 1<<15)
		a.words = make([]uint64, grown)
	}
	s := a.words[a.used : a.used+need]
	a.used += need
	return unsafe.Slice((*U)(unsafe.Pointer(unsafe.SliceData(s))), n)
}

func (a *arena) release(mark int) { a.used = mark }
