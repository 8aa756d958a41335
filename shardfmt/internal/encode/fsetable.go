package encode

import (
	"math/bits"
)

// Tables of finite states, as the sequences of a Zstd block have them (RFC 8878 §4.1): a symbol takes the logarithm of its
// share in bits, fractions included, because states carry the rest over to the next symbol.

const (
	// fseLog is the logarithm of the number of states: the most that tables of offsets may have, and enough for the others.
	fseLog     = 8
	fseSymbols = 64
)

// fseTable is the table of one kind of symbol.
type fseTable struct {
	log   int
	norm  [fseSymbols]uint16
	state uint32
	// next are the states by symbol and rank, bits and find what leads there.
	next [1 << fseLog]uint16
	bits [fseSymbols]uint32
	find [fseSymbols]int32
}

// appendTable builds the table of codes, at least one, and appends it. mode is 1 for a table of one symbol, 2 for others.
func (t *fseTable) appendTable(dst []byte, codes []uint8) (_ []byte, mode byte) {
	var counts [fseSymbols]int
	top := 0
	for _, c := range codes {
		counts[c]++
	}
	distinct := 0
	for c, n := range counts {
		if n > 0 {
			top, distinct = c, distinct+1
		}
	}
	if distinct == 1 {
		t.log = 0
		return append(dst, byte(top)), 1
	}
	t.log = min(fseLog, max(5, bits.Len(uint(len(codes)))-2, bits.Len(uint(distinct)))) // a state for each at least
	t.normalize(counts[:top+1], len(codes))
	t.build(top + 1)
	return t.appendNorm(dst, top+1), 2
}

// normalize scales counts, so many in all, to the number of states: every symbol that occurs has one at least.
func (t *fseTable) normalize(counts []int, total int) {
	clear(t.norm[:])
	states := 1 << t.log
	left, most := states, 0
	for c, n := range counts {
		if n == 0 {
			continue
		}
		share := max(1, (n*states+total/2)/total)
		t.norm[c] = uint16(share)
		left -= share
		if counts[most] < n {
			most = c
		}
	}
	for left < 0 { // take it where it is missed least
		worst := most
		for c := range counts {
			if t.norm[c] > 1 && int(t.norm[c])*total-counts[c]*states > int(t.norm[worst])*total-counts[worst]*states {
				worst = c
			}
		}
		t.norm[worst]--
		left++
	}
	t.norm[most] += uint16(left)
}

// build lays the states out.
func (t *fseTable) build(symbols int) {
	states := 1 << t.log
	var symbolAt [1 << fseLog]uint8
	step, at := states>>1+states>>3+3, 0
	for c := range symbols {
		for range t.norm[c] {
			symbolAt[at] = uint8(c)
			at = (at + step) & (states - 1)
		}
	}
	var from [fseSymbols]int
	total := 0
	for c := range symbols {
		n := int(t.norm[c])
		from[c] = total
		if n > 0 {
			out := uint32(t.log)
			if n > 1 {
				out -= uint32(bits.Len(uint(n-1)) - 1)
			}
			t.bits[c] = out<<16 - uint32(n)<<out
			t.find[c] = int32(total - n)
		}
		total += n
	}
	for s := range states {
		c := symbolAt[s]
		t.next[from[c]] = uint16(states + s)
		from[c]++
	}
}

// appendNorm appends the shares of the symbols.
func (t *fseTable) appendNorm(dst []byte, symbols int) []byte {
	w := bitWriter{dst: dst}
	w.add(uint32(t.log-5), 4)
	states := 1 << t.log
	remaining, threshold, width := states+1, states, uint8(t.log+1)
	zeros := false
	for c := 0; c < symbols && remaining > 1; {
		if zeros {
			from := c
			for t.norm[c] == 0 {
				c++
			}
			for ; c >= from+3; from += 3 {
				w.add(3, 2)
			}
			w.add(uint32(c-from), 2)
		}
		n := int(t.norm[c])
		c++
		spare := 2*threshold - 1 - remaining
		remaining -= n
		n++
		if n >= threshold {
			n += spare
		}
		bits := width
		if n < spare {
			bits--
		}
		w.add(uint32(n), bits)
		zeros = n == 1
		for remaining < threshold {
			width--
			threshold >>= 1
		}
	}
	return w.flush()
}

// begin is the state of the last symbol, with which encoding begins.
func (t *fseTable) begin(c uint8) {
	if t.log == 0 {
		return
	}
	out := (t.bits[c] + 1<<15) >> 16
	t.state = uint32(t.next[int32((out<<16-t.bits[c])>>out)+t.find[c]])
}

// encode goes to the state of the symbol before.
func (t *fseTable) encode(w *bitWriter, c uint8) {
	if t.log == 0 {
		return
	}
	out := (t.state + t.bits[c]) >> 16
	w.add(t.state&(1<<out-1), uint8(out))
	t.state = uint32(t.next[int32(t.state>>out)+t.find[c]])
}

// end writes the state with which decoding begins.
func (t *fseTable) end(w *bitWriter) {
	w.add(t.state&(1<<t.log-1), uint8(t.log))
}

// bitWriter appends numbers of a few bits, the first ones lowest.
type bitWriter struct {
	dst  []byte
	held uint64
	n    uint8
}

// add appends the lowest bits of v, at most 32 of them; the others must be zero.
func (w *bitWriter) add(v uint32, bits uint8) {
	w.held |= uint64(v) << w.n
	w.n += bits
	for w.n >= 8 {
		w.dst = append(w.dst, byte(w.held))
		w.held >>= 8
		w.n -= 8
	}
}

// flush appends the rest of a byte.
func (w *bitWriter) flush() []byte {
	if w.n > 0 {
		w.dst = append(w.dst, byte(w.held))
	}
	return w.dst
}

// close ends a stream that is read from its end: with a bit that reports where that is.
func (w *bitWriter) close() []byte {
	w.add(1, 1)
	return w.flush()
}

// The codes of lengths: the first ones stand for themselves, each further one for as many as its extra bits distinguish.
var (
	literalsBits = [36]uint8{16: 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	matchBits    = [53]uint8{32: 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	literalsBase = bases(literalsBits[:], 0)
	matchBase    = bases(matchBits[:], minMatch)
)

func bases(extra []uint8, least uint32) []uint32 {
	out := make([]uint32, len(extra))
	for i, b := range extra {
		out[i] = least
		least += 1 << b
	}
	return out
}

func literalsCode(n uint32) uint8 { return codeOf(literalsBase, n, 16) }
func matchCode(n uint32) uint8    { return codeOf(matchBase, n, 32) }

// codeOf is the code of a length; the first direct ones stand for a length each.
func codeOf(base []uint32, n uint32, direct int) uint8 {
	if n < base[direct] {
		return uint8(n - base[0])
	}
	c := direct
	for c+1 < len(base) && base[c+1] <= n {
		c++
	}
	return uint8(c)
}
