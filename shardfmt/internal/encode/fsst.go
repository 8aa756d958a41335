package encode

import (
	"encoding/binary"
	"slices"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
)

// FSST replaces frequent strings of up to eight bytes by one byte each (Boncz, Neumann, Leis, FSST: Fast
// Random Access String Compression, VLDB 2020). Byte 255 escapes a literal.

const (
	maxSymbols = 255
	escape     = 255
	// minFsst is the fewest bytes of text worth a table.
	minFsst = 256
)

// symbol is up to eight bytes, the first one lowest, the rest zero.
type symbol struct {
	bytes  uint64
	length uint8
}

// mask covers the bytes of a symbol of a length.
func mask(length uint8) uint64 { return ^uint64(0) >> (64 - 8*uint(length)) }

// symbols is what a table is made from, in order of worth.
type symbols struct {
	list []symbol
	// rate is what the text they were chosen for came to, in 1/1000 of its size.
	rate int
}

// symbolTable finds the longest symbol at the front of a text. Symbols of three bytes and more lie in a hash
// table by their first three bytes, one per slot; those of one and two in a table by the first two.
type symbolTable struct {
	list []symbol
	long [longSlots]longSymbol
	// short has length·256 + code by the first two bytes; 0 where only an escape helps.
	short [1 << 16]uint16
}

// longSymbol has mask 0 and a bit that this mask never leaves while its slot is free.
type longSymbol struct {
	bytes, mask uint64
	entry       uint16 // length·256 + code
}

const longSlots = 1 << 11

func longSlot(text uint64) int {
	return int((text & 0xffffff * 0x9e3779b97f4a7c15) >> (64 - 11))
}

// reset empties the table.
func (t *symbolTable) reset() {
	t.list = t.list[:0]
	for i := range t.long {
		t.long[i] = longSymbol{bytes: 1}
	}
	clear(t.short[:])
}

// add enters a symbol; false if its slot is taken. Symbols come in descending worth.
func (t *symbolTable) add(s symbol) bool {
	code := uint8(len(t.list))
	switch s.length {
	case 1:
		for second := range 256 {
			at := int(s.bytes) | second<<8
			if t.short[at] == 0 {
				t.short[at] = 1<<8 | uint16(code)
			}
		}
	case 2:
		t.short[s.bytes] = 2<<8 | uint16(code)
	default:
		slot := &t.long[longSlot(s.bytes)]
		if slot.entry != 0 {
			return false
		}
		*slot = longSymbol{bytes: s.bytes, mask: mask(s.length), entry: uint16(s.length)<<8 | uint16(code)}
	}
	t.list = append(t.list, s)
	return true
}

// find gives the code and the length of the longest symbol that text begins with, length 0 if there is none.
// rest is how many bytes of text are left, of which the eight first are in it.
func (t *symbolTable) find(text uint64, rest int) (code uint8, length int) {
	l := &t.long[longSlot(text)]
	if text&l.mask == l.bytes && int(l.entry>>8) <= rest {
		return uint8(l.entry), int(l.entry >> 8)
	}
	s := t.short[uint16(text)]
	if s>>8 == 2 && rest < 2 {
		s = t.single(uint8(text))
	}
	return uint8(s), int(s >> 8)
}

// single is the entry of the symbol of one byte, if there is one: at the very end of a text a symbol of two
// bytes may be in the way.
func (t *symbolTable) single(b uint8) uint16 {
	for code, s := range t.list {
		if s.length == 1 && s.bytes == uint64(b) {
			return 1<<8 | uint16(code)
		}
	}
	return 0
}

// leastHalves is the least text that is cut in halves. No symbol lies on both sides of the cut, which costs a byte or two.
const leastHalves = 16 << 10

// compress appends the codes of text, and has space for nothing but literals. Where the next symbol begins is known when the one before is found, which
// takes as long as a dozen other things: so the two halves of a text are compressed side by side.
func (t *symbolTable) compress(dst, text []byte) []byte {
	start := len(dst)
	dst = slices.Grow(dst, 2*len(text))
	out := dst[start : start+2*len(text)]
	half := 0
	if len(text) >= leastHalves {
		half = len(text) / 2
	}
	first, second := text[:half], text[half:]
	front, back := out[:2*half], out[2*half:]
	n, at, m, on := t.compressBoth(front, first, back, second)
	n += t.compressOne(front[n:], first[at:])
	m += t.compressOne(back[m:], second[on:])
	copy(out[n:], back[:m])
	return dst[:start+n+m]
}

// compressBoth writes codes of two texts until one of them has less than eight bytes left. It returns how many codes it wrote for how many bytes of each.
func (t *symbolTable) compressBoth(front, first, back, second []byte) (n, at, m, on int) {
	for len(first)-at >= 8 && len(second)-on >= 8 {
		one, two := lz4Load(first, at), lz4Load(second, on)
		r, s := t.short[uint16(one)], t.short[uint16(two)]
		k, l := &t.long[longSlot(one)], &t.long[longSlot(two)]
		if one&k.mask == k.bytes {
			r = k.entry
		}
		if two&l.mask == l.bytes {
			s = l.entry
		}
		front[n], back[m] = byte(r), byte(s)
		n, at, m, on = n+1, at+int(r>>8), m+1, on+int(s>>8)
		if r == 0 {
			front[n-1], front[n] = escape, byte(one)
			n, at = n+1, at+1
		}
		if s == 0 {
			back[m-1], back[m] = escape, byte(two)
			m, on = m+1, on+1
		}
	}
	return n, at, m, on
}

// compressOne writes the codes of a text and returns how many there are. It branches only where a literal is escaped.
func (t *symbolTable) compressOne(out, text []byte) int {
	n, at := 0, 0
	for len(text)-at >= 8 {
		word := lz4Load(text, at)
		s, l := t.short[uint16(word)], &t.long[longSlot(word)]
		if word&l.mask == l.bytes {
			s = l.entry
		}
		if s == 0 {
			out[n], out[n+1] = escape, byte(word)
			n, at = n+2, at+1
			continue
		}
		out[n] = byte(s)
		n, at = n+1, at+int(s>>8)
	}
	for at < len(text) {
		code, length := t.find(load8(text[at:]), len(text)-at)
		if length == 0 {
			out[n], out[n+1] = escape, text[at]
			n, at = n+2, at+1
			continue
		}
		out[n] = code
		n, at = n+1, at+length
	}
	return n
}

// load8 is the first eight bytes of text, zeros after its end.
func load8(text []byte) uint64 {
	if len(text) >= 8 {
		return binary.LittleEndian.Uint64(text)
	}
	var v uint64
	for i, b := range text {
		v |= uint64(b) << (8 * i)
	}
	return v
}

// append writes the table: symbols, then lengths.
func (t *symbols) append(dst []byte) []byte {
	for _, s := range t.list {
		dst = binary.LittleEndian.AppendUint64(dst, s.bytes)
	}
	for _, s := range t.list {
		dst = append(dst, s.length)
	}
	return dst
}

// planFsst compresses the concatenated values with the table of an earlier block, or, if there is none or it
// doesn't serve any more, with one trained on these. best is the size that it is weighed against.
func (e *Encoder) planFsst(s *byteValues, offsets *plan, best int) *plan {
	payload := e.compressFsst(s.data, best)
	p := e.newPlan(block.Fsst, 0)
	p.payload, p.symbols = payload, e.symbols
	p.size = headerOf(7) + align8(9*len(e.symbols.list)+len(payload)) + nestOffsets(p, s, offsets)
	return p
}

// staleRate is how much worse than on its training text a table may do before a new one is trained, in
// percent; staleRateSmall is that of small buffers, whose tables are closer to their texts. hopelessRate is how much larger than the best, in percent, what an old table makes of a text may be for a new one to be worth
// training: that takes as long as a few texts. At the longest pause between two trials it is trained all the same.
const staleRate, staleRateSmall, hopelessRate = 105, 103, 125

func (e *Encoder) compressFsst(text []byte, best int) []byte {
	room := take[uint8](&e.arena, 2*len(text))
	if e.symbols != nil {
		if e.tableFor != e.symbols {
			e.table.reset()
			for _, s := range e.symbols.list {
				e.table.add(s)
			}
			e.tableFor = e.symbols
		}
		payload := e.table.compress(room[:0], text)
		hopeless := len(payload)*100/hopelessRate > best && !e.eager && e.rules.general == block.Lz4 && e.trials[block.Fsst][0].losses < maxLosses
		stale := staleRate
		if e.caching {
			stale = staleRateSmall
		}
		if len(payload)*1000/len(text)*100 <= e.symbols.rate*stale || hopeless {
			return payload
		}
	}
	e.trainer.train(&e.table, text, e.o.Seed)
	payload := e.table.compress(room[:0], text)
	e.symbols = &symbols{list: slices.Clone(e.table.list), rate: len(payload) * 1000 / len(text)}
	e.tableFor = e.symbols
	return payload
}
