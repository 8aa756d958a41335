package encode

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unsafe"
)

// The LZ4 block format is a series of sequences:
//
//	token u8         literals in the upper four bits, match length less 4 in the lower four; 15 continues
//	length bytes     of the literals: 255 … until one is smaller
//	literals
//	offset u16       back from here, 1..65535
//	length bytes     of the match
//
// The last sequence has literals only, at least five; the last match starts at least twelve bytes before the
// end (lz4 Block Format, the end of block conditions).
//
// Blocks here are small, numbers and short strings, where matches of four to eight bytes make the ratio. The
// library at hand looks for six bytes and more, or searches exhaustively; this one keeps two tables, by four
// bytes and by eight, and looks one byte ahead before it settles for a short match.
const (
	lz4MinMatch  = 4
	lz4LastStart = 12
	lz4Literals  = 5
	lz4Window    = 1<<16 - 1
	lz4TableBits = 14
)

// lz4Encoder holds, by hash, the last position of each four and eight bytes, as base + position: what an
// earlier text has left is below base.
type lz4Encoder struct {
	base        uint32
	short, long [1 << lz4TableBits]uint32
}

func lz4Bound(n int) int { return n + n/255 + 16 }

func lz4Short(v uint64) uint32 { return uint32(v) * 2654435761 >> (32 - lz4TableBits) }
func lz4Long(v uint64) uint32  { return uint32(v * 0xcf1bbcdcb7a56463 >> (64 - lz4TableBits)) }

// begin makes everything in the tables too old.
func (z *lz4Encoder) begin(n int) {
	if z.base == 0 || uint64(z.base)+uint64(n) > 1<<31 {
		clear(z.short[:])
		clear(z.long[:])
		z.base = lz4Window + 1
	}
}

// compress appends src as an LZ4 block.
func (z *lz4Encoder) compress(dst, src []byte) []byte {
	return z.compressBelow(dst, src, math.MaxInt)
}

// compressBelow is compress of a text that is of use only if dst comes to less than limit bytes; nil if it doesn't.
func (z *lz4Encoder) compressBelow(dst, src []byte, limit int) []byte {
	z.begin(len(src))
	defer func() { z.base += uint32(len(src)) + lz4Window + 1 }()
	anchor, at := 0, 0
	for at < len(src)-lz4LastStart {
		if len(dst)+at-anchor >= limit { // with the literals so far
			return nil
		}
		from, start, length := z.search(src, at, anchor)
		if length == 0 {
			at += 1 + (at-anchor)>>6
			continue
		}
		dst = appendSequence(dst, src[anchor:start], start-from, length)
		anchor = start + length
		z.fill(src, at, anchor)
		at = anchor
	}
	return appendLiterals(dst, src[anchor:], 0)
}

// search looks for a match around at: at itself, or the byte after it if that one has a longer match. The
// match is the length bytes from from on, equal to those from start on.
func (z *lz4Encoder) search(src []byte, at, anchor int) (from, start, length int) {
	from, length = z.match(src, at)
	if length == 0 {
		return 0, 0, 0
	}
	start = at
	for length < 32 && start+1 < len(src)-lz4LastStart {
		f, l := z.match(src, start+1)
		if l <= length+1 {
			break
		}
		from, start, length = f, start+1, l
	}
	for start > anchor && from > 0 && src[start-1] == src[from-1] {
		from, start, length = from-1, start-1, length+1
	}
	return from, start, length
}

// match enters position at, which is more than lz4LastStart before the end, into the tables and gives the better of the two matches
// they knew.
func (z *lz4Encoder) match(src []byte, at int) (from, length int) {
	v := lz4Load(src, at)
	here := z.base + uint32(at)
	l, s := &z.long[lz4Long(v)], &z.short[lz4Short(v)]
	far, near := *l, *s
	*l, *s = here, here
	if d := here - far; d <= lz4Window && far >= z.base {
		p := at - int(d)
		if lz4Load(src, p) == v {
			return p, 8 + lz4Common(src, p+8, at+8)
		}
	}
	if d := here - near; d <= lz4Window && near >= z.base {
		p := at - int(d)
		if uint32(lz4Load(src, p)) == uint32(v) {
			return p, lz4MinMatch + lz4Common(src, p+lz4MinMatch, at+lz4MinMatch)
		}
	}
	return 0, 0
}

// lz4Load gives the eight bytes of src at a position, which must be there: most of what compressing takes is such loads, and a check
// of each costs as much as the load.
func lz4Load(src []byte, at int) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(src)), at))[:])
}

// lz4Common is how many bytes from a and from b > a on are the same, but for the last ones, which are literals.
func lz4Common(src []byte, a, b int) int {
	start, end := b, len(src)-lz4Literals
	for ; b+8 <= end; a, b = a+8, b+8 {
		if x := lz4Load(src, a) ^ lz4Load(src, b); x != 0 {
			return b - start + bits.TrailingZeros64(x)/8
		}
	}
	for b < end && src[a] == src[b] {
		a, b = a+1, b+1
	}
	return b - start
}

// fill enters some of the positions that a match has covered.
func (z *lz4Encoder) fill(src []byte, from, to int) {
	to = min(to, len(src)-lz4LastStart)
	step := 2 + (to-from)>>4
	for at := from + 1; at < to; at += step {
		v := lz4Load(src, at)
		z.short[lz4Short(v)] = z.base + uint32(at)
		z.long[lz4Long(v)] = z.base + uint32(at)
	}
}

func appendSequence(dst, literals []byte, offset, length int) []byte {
	rest := length - lz4MinMatch
	dst = appendLiterals(dst, literals, byte(min(rest, 15)))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(offset))
	return appendLength(dst, rest)
}

// appendLiterals writes a token, with the given lower half, and the literals.
func appendLiterals(dst, literals []byte, lower byte) []byte {
	dst = append(dst, byte(min(len(literals), 15))<<4|lower)
	dst = appendLength(dst, len(literals))
	return append(dst, literals...)
}

// appendLength writes what of a length does not fit into the token.
func appendLength(dst []byte, n int) []byte {
	if n < 15 {
		return dst
	}
	for n -= 15; n >= 255; n -= 255 {
		dst = append(dst, 255)
	}
	return append(dst, byte(n))
}
