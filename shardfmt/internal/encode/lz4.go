package encode

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/shardcat/shardcat/internal/view"
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
// library available looks for six bytes and more, or searches exhaustively; this one keeps two tables, by four
// bytes and by eight, and looks one byte ahead before it settles for a short match.
const (
	lz4MinMatch  = 4
	lz4LastStart = 12
	lz4Literals  = 5
	lz4Window    = 1<<16 - 1
	lz4ShortBits = 13
	// lz4LongBits is for texts of 64 KiB and more; each halving takes a bit, down to lz4LeastBits.
	lz4LongBits, lz4LeastBits = 16, 12
)

// lz4Encoder holds, by hash, the last position of each four and eight bytes, modulo 2^16: what else may be there is found out by
// comparing. Repetitions of eight bytes and more are what makes texts small, so each of the positions within reach has a place of its own, if it
// has luck; short ones are worth it only nearby, and a few places leave a second-level cache space for the text. Of the long table a small text
// uses a part.
type lz4Encoder struct {
	short [1 << lz4ShortBits]uint16
	long  [1 << lz4LongBits]uint16
	// shift leaves of a hash of 64 bits those that number the places of the part.
	shift uint8
}

// reset empties the tables for a text of n bytes.
func (z *lz4Encoder) reset(n int) {
	b := min(max(bits.Len(uint(n))-1, lz4LeastBits), lz4LongBits)
	z.shift = uint8(64 - b)
	clear(z.short[:])
	clear(z.long[:1<<b])
}

func lz4Bound(n int) int { return n + n/255 + 16 }

func lz4Short(v uint64) uint32 { return uint32(v) * 2654435761 >> (32 - lz4ShortBits) }

// place is where the long table has the eight bytes v.
func (z *lz4Encoder) place(v uint64) uint16 { return uint16(v * 0xcf1bbcdcb7a56463 >> (z.shift & 63)) }

// enter puts a position with the eight bytes from it on into the tables, and gives how far before it those lie that were there: 0 to
// lz4Window, in texts of up to 64 KiB never before the start, and 0 only at the start itself.
func (z *lz4Encoder) enter(at int, v uint64) (far, near int) {
	l, s := &z.long[z.place(v)], &z.short[lz4Short(v)]
	far, near = int(uint16(at)-*l), int(uint16(at)-*s)
	*l, *s = uint16(at), uint16(at)
	return far, near
}

// within reports whether there is another position so far before one.
func within(back, at int) bool { return uint(back-1) < uint(at) }

// compress appends src as an LZ4 block.
func (z *lz4Encoder) compress(dst, src []byte) []byte {
	return z.compressBelow(dst, src, math.MaxInt)
}

const (
	// lz4Looks is how many times compressBelow looks how far it has come, lz4Ahead the share of the limit, as a divisor, by which
	// a text may be ahead of its part of it: the first repetitions come late.
	lz4Looks, lz4Ahead = 16, 5
	// lz4LeastParted is the least text of which a part predicts the rest.
	lz4LeastParted = 4 << 10
)

// lz4Allowed is how many bytes the first at bytes of a text of n may come to where the whole of it is of use only below limit.
func lz4Allowed(limit, at, n int) int {
	if n < lz4LeastParted {
		return limit
	}
	return min(limit, int(float64(limit)*(float64(at)/float64(n)+1./lz4Ahead)))
}

// compressBelow is compress of a text that is of use only if dst comes to less than limit bytes; nil if it doesn't, or, from lz4LeastParted bytes on,
// if that isn't to be expected any more of what its beginning came to. What match does is written out for the positions that mostly have none: a call
// costs as much as they do.
func (z *lz4Encoder) compressBelow(dst, src []byte, limit int) []byte {
	z.reset(len(src))
	anchor, at, last := 0, 0, len(src)-lz4LastStart
	look := len(src) / lz4Looks
	limit = min(limit, len(dst)+2*lz4Bound(len(src))) // no text comes to more
	for at < last {
		if at >= look {
			if len(dst)+at-anchor >= lz4Allowed(limit, at, len(src)) { // with the literals so far
				return nil
			}
			look = at + len(src)/lz4Looks
		}
		v := lz4Load(src, at)
		far, near := z.enter(at, v)
		from, length := 0, 0
		if within(far, at) && lz4Load(src, at-far) == v {
			from, length = at-far, 8+lz4Common(src, at-far+8, at+8)
		} else if within(near, at) && uint32(lz4Load(src, at-near)) == uint32(v) {
			from, length = at-near, lz4MinMatch+lz4Common(src, at-near+lz4MinMatch, at+lz4MinMatch)
		} else {
			at += 1 + (at-anchor)>>6
			continue
		}
		from, start, length := z.widen(src, from, at, length, anchor)
		dst = appendShortSequence(dst, src, anchor, start, start-from, length)
		anchor = start + length
		z.fill(src, at, anchor)
		at = anchor
	}
	return appendLiterals(dst, src[anchor:], 0)
}

// widen looks for a longer match than that of length bytes from start on: from the byte after it, as long as each is longer, and
// from bytes before it that are the same too, down to anchor. The match is the length bytes from from on, equal to those from start on.
func (z *lz4Encoder) widen(src []byte, from, start, length, anchor int) (int, int, int) {
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
	far, near := z.enter(at, v)
	if within(far, at) && lz4Load(src, at-far) == v {
		return at - far, 8 + lz4Common(src, at-far+8, at+8)
	}
	if within(near, at) && uint32(lz4Load(src, at-near)) == uint32(v) {
		return at - near, lz4MinMatch + lz4Common(src, at-near+lz4MinMatch, at+lz4MinMatch)
	}
	return 0, 0
}

// lz4Load gives the eight bytes of src at a position, which must be there: most of what compressing takes is such loads, and a check
// of each costs as much as the load.
func lz4Load(src []byte, at int) uint64 {
	return view.Load64(src, at)
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
		z.short[lz4Short(v)], z.long[z.place(v)] = uint16(at), uint16(at)
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
