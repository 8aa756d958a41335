package simd

import (
	"encoding/binary"
	"math/bits"

	"github.com/shardcat/shardcat/internal/view"
)

// Compact fills dst with the values of src whose bits are set in a bitmap. The bit of src[0] is bit from; dst has exactly as many
// values as there are such bits.
func Compact[U Unsigned](dst, src []U, bitmap []byte, from int) {
	of[U]().compact(dst, src, bitmap, from)
}

// CompactNumbers is Compact of any numbers into room, which has at least as many values as src; it returns the part that was filled.
func CompactNumbers[T Number](room, src []T, bitmap []byte, from int) []T {
	dst := room[:OnesBetween(bitmap, from, len(src))]
	switch SizeOf[T]() {
	case 1:
		Compact(Cast[uint8](dst), Cast[uint8](src), bitmap, from)
	case 2:
		Compact(Cast[uint16](dst), Cast[uint16](src), bitmap, from)
	case 4:
		Compact(Cast[uint32](dst), Cast[uint32](src), bitmap, from)
	default:
		Compact(Cast[uint64](dst), Cast[uint64](src), bitmap, from)
	}
	return dst
}

// CompactBytes is Compact for values of a size in bytes above 0; src holds whole ones.
func CompactBytes(dst, src []byte, size int, bitmap []byte, from int) {
	if size == 16 { // decimals and guids
		active.compact16(sixteens(dst), sixteens(src), bitmap, from)
		return
	}
	n, k := len(src)/size, 0
	for i := 0; i < n; i += wordBits {
		for m := BitsAt(bitmap, from+i, min(wordBits, n-i)); m != 0; m &= m - 1 {
			at := i + bits.TrailingZeros64(m)
			copy(dst[k:k+size], src[at*size:])
			k += size
		}
	}
}

// wordBits are the bits that are looked at together.
const wordBits = 64

// sixteens is memory as values of sixteen bytes.
func sixteens(b []byte) [][16]byte {
	return view.Of[[16]byte](b, len(b)/16)
}

func compact[T any](dst, src []T, bitmap []byte, from int) {
	for ; len(src) > 0; from += wordBits {
		n := min(wordBits, len(src))
		some := src[:n]
		src = src[n:]
		m := BitsAt(bitmap, from, n)
		if m == lowBits(n) {
			dst = dst[copy(dst, some):]
			continue
		}
		out := dst[:bits.OnesCount64(m)]
		dst = dst[len(out):]
		for k := range out {
			out[k] = some[bits.TrailingZeros64(m)]
			m &= m - 1
		}
	}
}

// CompactBits writes the bits of src whose bits are set in a bitmap to dst, from bit at on, and nothing else. The first of n bits
// of src is bit from, that of the bitmap bit chosen.
func CompactBits(dst []byte, at int, src []byte, from int, bitmap []byte, chosen, n int) {
	active.compactBits(dst, at, src, from, bitmap, chosen, n)
}

func compactBits(dst []byte, at int, src []byte, from int, bitmap []byte, chosen, n int) {
	for i := 0; i < n; i += wordBits {
		some := min(wordBits, n-i)
		m := BitsAt(bitmap, chosen+i, some)
		if m == 0 {
			continue
		}
		k := bits.OnesCount64(m)
		putBits(dst, at, k, compress(BitsAt(src, from+i, some), m))
		at += k
	}
}

// CopyBits copies n bits of src, from bit from on, to dst, from bit at on, and writes nothing else.
func CopyBits(dst []byte, at int, src []byte, from, n int) {
	if at%8 == 0 && from%8 == 0 {
		whole := n / 8
		copy(dst[at/8:][:whole], src[from/8:][:whole])
		at, from, n = at+8*whole, from+8*whole, n%8
	}
	for i := 0; i < n; i += wordBits {
		some := min(wordBits, n-i)
		putBits(dst, at+i, some, BitsAt(src, from+i, some))
	}
}

// OnesBetween counts the ones of n bits of a bitmap, from bit from on.
func OnesBetween(bitmap []byte, from, n int) (ones int) {
	if from%8 == 0 {
		return Ones(bitmap[from/8:], n)
	}
	for ; n >= wordBits; from, n = from+wordBits, n-wordBits {
		ones += bits.OnesCount64(BitsAt(bitmap, from, wordBits))
	}
	return ones + bits.OnesCount64(BitsAt(bitmap, from, n))
}

// AllOnes reports whether all of n bits of a bitmap, from bit from on, are set.
func AllOnes(bitmap []byte, from, n int) bool {
	for ; n >= wordBits; from, n = from+wordBits, n-wordBits {
		if BitsAt(bitmap, from, wordBits) != lowBits(wordBits) {
			return false
		}
	}
	return BitsAt(bitmap, from, n) == lowBits(n)
}

// AndBits clears the bits of dst that are not set in src, which is as long.
func AndBits(dst, src []byte) {
	src = src[:len(dst)]
	for ; len(dst) >= 8; dst, src = dst[8:], src[8:] {
		binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(dst)&binary.LittleEndian.Uint64(src))
	}
	for i := range dst {
		dst[i] &= src[i]
	}
}

// BitsAt is n bits of a bitmap, at most 64, from bit from on, the first one lowest. The others are 0.
func BitsAt(bitmap []byte, from, n int) uint64 {
	if n == 0 {
		return 0
	}
	b, shift := bitmap[from/8:], from%8
	if len(b) <= wordBits/8 {
		var last [wordBits/8 + 1]byte
		copy(last[:], b)
		b = last[:]
	}
	x := binary.LittleEndian.Uint64(b)>>shift | uint64(b[8])<<(wordBits-shift)
	return x & lowBits(n)
}

// putBits writes n bits, at most 64, from bit at on. The other bits of x are 0.
func putBits(dst []byte, at, n int, x uint64) {
	if n == 0 {
		return
	}
	b, shift := dst[at/8:], at%8
	var last [wordBits/8 + 1]byte
	w := b
	if len(b) <= wordBits/8 {
		copy(last[:], b)
		w = last[:]
	}
	out := lowBits(n)
	binary.LittleEndian.PutUint64(w, binary.LittleEndian.Uint64(w)&^(out<<shift)|x<<shift)
	w[8] = w[8]&^byte(out>>(wordBits-shift)) | byte(x>>(wordBits-shift))
	if len(b) <= wordBits/8 {
		copy(b, last[:])
	}
}

// compress moves the bits of x that are set in m to the lowest places, in order. What m keeps of x moves right by the zeros of m
// below it, by one power of two of them after the other (Warren, Hacker's Delight, 7-4).
func compress(x, m uint64) uint64 {
	x &= m
	zeros := ^m << 1
	for by := 1; by < wordBits; by *= 2 {
		odd := zeros // places with an odd number of zeros below them
		for i := 1; i < wordBits; i *= 2 {
			odd ^= odd << i
		}
		move := odd & m
		m = m ^ move | move>>by
		t := x & move
		x = x ^ t | t>>by
		zeros &^= odd
	}
	return x
}
