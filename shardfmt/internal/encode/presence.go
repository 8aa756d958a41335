package encode

import (
	"encoding/binary"
	"math/bits"
)

// The forms of the presence section of a block (docs/format/blocks.md). Nothing at all means that nothing is null.
//
//	1                                every value is null
//	2, n bytes                       one byte per value, 1 or 0
//	3, negated, Roaring bitmap       positions of the values (negated 0) or of the nulls (negated 1)
//
// The Roaring bitmap is the portable serialization without run containers, the only one the reference writes:
//
//	0        u32  12346
//	4        u32  number of containers k; one per 65,536 positions, empty ones are left out
//	8        k × {u16 key, u16 cardinality−1}
//	8+4k     k × u32 offset of the container from the start of the bitmap
//	8+8k     containers: up to 4096 positions an ascending u16 array, else a bitset of 8192 bytes
const (
	presenceNone    = 1
	presenceBytes   = 2
	presenceRoaring = 3

	roaringCookie   = 12346
	roaringArrayMax = 4096
	roaringSpan     = 1 << 16
	roaringBitset   = roaringSpan / 8
)

// appendPresence appends the presence section of a block of n values in the smallest form, or, for the
// profile Plain, always as bytes. A nil bitmap, or one without a null, appends nothing.
func appendPresence(dst, valid []byte, n int, p Profile) []byte {
	if valid == nil {
		return dst
	}
	values := countOnes(valid, n)
	switch {
	case values == n:
		return dst
	case values == 0:
		return append(dst, presenceNone)
	case p == Plain:
		return appendPresenceBytes(dst, valid, n)
	}
	there, missing := roaringSize(valid, n, 0), roaringSize(valid, n, 0xff)
	switch {
	case 1+n <= 2+min(there, missing):
		return appendPresenceBytes(dst, valid, n)
	case missing <= there:
		return appendRoaring(append(dst, presenceRoaring, 1), valid, n, 0xff)
	}
	return appendRoaring(append(dst, presenceRoaring, 0), valid, n, 0)
}

// presenceSize is the size of the presence section that appendPresence makes.
func presenceSize(valid []byte, n int, p Profile) int {
	if valid == nil {
		return 0
	}
	switch values := countOnes(valid, n); {
	case values == n:
		return 0
	case values == 0:
		return 1
	case p == Plain:
		return 1 + n
	}
	return min(1+n, 2+roaringSize(valid, n, 0), 2+roaringSize(valid, n, 0xff))
}

// countOnes counts the set bits among the first n.
func countOnes(bitmap []byte, n int) int {
	ones := 0
	for len(bitmap) >= 8 && n >= 64 {
		ones += bits.OnesCount64(binary.LittleEndian.Uint64(bitmap))
		bitmap, n = bitmap[8:], n-64
	}
	for ; n > 0; bitmap, n = bitmap[1:], n-8 {
		b := bitmap[0]
		if n < 8 {
			b &= 1<<n - 1
		}
		ones += bits.OnesCount8(b)
	}
	return ones
}

func appendPresenceBytes(dst, valid []byte, n int) []byte {
	dst = append(dst, presenceBytes)
	for i := range n {
		dst = append(dst, valid[i/8]>>(i%8)&1)
	}
	return dst
}

// span calls f for each 65,536 positions that hold a bit of bitmap XOR flip.
func spans(bitmap []byte, n int, flip byte, f func(key int, part []byte, bits, ones int)) {
	for key := 0; key*roaringSpan < n; key++ {
		part := bitmap[key*roaringBitset:]
		m := min(roaringSpan, n-key*roaringSpan)
		ones := countOnes(part, m)
		if flip != 0 {
			ones = m - ones
		}
		if ones > 0 {
			f(key, part, m, ones)
		}
	}
}

func containerSize(ones int) int {
	if ones > roaringArrayMax {
		return roaringBitset
	}
	return 2 * ones
}

func roaringSize(bitmap []byte, n int, flip byte) int {
	size := 8
	spans(bitmap, n, flip, func(_ int, _ []byte, _, ones int) { size += 8 + containerSize(ones) })
	return size
}

// appendRoaring writes the bitmap of the positions whose bit differs from flip.
func appendRoaring(dst, bitmap []byte, n int, flip byte) []byte {
	k := 0
	spans(bitmap, n, flip, func(int, []byte, int, int) { k++ })
	dst = binary.LittleEndian.AppendUint32(dst, roaringCookie)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(k))
	spans(bitmap, n, flip, func(key int, _ []byte, _, ones int) {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(key))
		dst = binary.LittleEndian.AppendUint16(dst, uint16(ones-1))
	})
	at := 8 + 8*k
	spans(bitmap, n, flip, func(_ int, _ []byte, _, ones int) {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(at))
		at += containerSize(ones)
	})
	spans(bitmap, n, flip, func(_ int, part []byte, m, ones int) {
		if ones > roaringArrayMax {
			dst = appendBitset(dst, part, m, flip)
		} else {
			dst = appendPositions(dst, part, m, flip)
		}
	})
	return dst
}

func appendPositions(dst, bitmap []byte, n int, flip byte) []byte {
	for at := 0; at < n; at += 8 {
		for b := lastBits(bitmap[at/8]^flip, n-at); b != 0; b &= b - 1 {
			dst = binary.LittleEndian.AppendUint16(dst, uint16(at+bits.TrailingZeros8(b)))
		}
	}
	return dst
}

func appendBitset(dst, bitmap []byte, n int, flip byte) []byte {
	for at := 0; at < roaringSpan; at += 8 {
		b := byte(0)
		if at < n {
			b = lastBits(bitmap[at/8]^flip, n-at)
		}
		dst = append(dst, b)
	}
	return dst
}

// lastBits clears what lies past the end when only rest bits are left.
func lastBits(b byte, rest int) byte {
	if rest < 8 {
		b &= 1<<rest - 1
	}
	return b
}
