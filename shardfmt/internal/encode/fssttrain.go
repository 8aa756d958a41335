package encode

import "math/bits"

// trainer makes symbol tables. In each round it cuts a sample with the table so far, counts symbols and
// pairs of neighbours, and takes the worthiest of both as the next table.
type trainer struct {
	sample []byte
	counts tally
	found  candidates
}

const (
	// trainSample is the bytes of text that a table is trained on, taken in pieces.
	trainSample, trainPiece = 16 << 10, 512
	trainRounds             = 5
	// symbolCost is what a symbol costs in the table.
	symbolCost = 9
)

// train makes t a table for text.
func (tr *trainer) train(t *symbolTable, text []byte, seed uint64) {
	tr.pick(text, seed)
	t.reset()
	for round := range trainRounds {
		tr.count(t)
		last := round == trainRounds-1
		tr.choose(t, last, len(text))
	}
}

// pick takes pieces spread over the text, or all of it if it is small.
func (tr *trainer) pick(text []byte, seed uint64) {
	tr.sample = tr.sample[:0]
	if len(text) <= trainSample {
		tr.sample = append(tr.sample, text...)
		return
	}
	pieces := trainSample / trainPiece
	stride := (len(text) - trainPiece) / pieces
	for i := range pieces {
		at := i*stride + int((seed+uint64(i)*2654435761)%uint64(max(1, stride-trainPiece+1)))
		tr.sample = append(tr.sample, text[at:at+trainPiece]...)
	}
}

// count cuts the sample with t and counts what can become a symbol. A byte counts for more than its one: as
// an escape it costs two.
func (tr *trainer) count(t *symbolTable) {
	tr.counts.reset()
	var last symbol
	for text := tr.sample; len(text) > 0; {
		word := load8(text)
		code, length := t.find(word, len(text))
		s := symbol{bytes: word & 0xff, length: 1}
		if length > 0 {
			s = t.list[code]
		}
		tr.counts.add(s)
		if s.length > 1 {
			tr.counts.add(symbol{bytes: word & 0xff, length: 1})
		}
		if joined := last.length + s.length; last.length > 0 && joined <= 8 {
			tr.counts.add(symbol{bytes: last.bytes | s.bytes<<(8*last.length), length: joined})
		}
		if s.length > 1 && last.length > 0 && last.length < 8 {
			tr.counts.add(symbol{bytes: last.bytes | word&0xff<<(8*last.length), length: last.length + 1})
		}
		last = s
		text = text[s.length:]
	}
}

// choose makes the worthiest candidates the symbols of t. In the last round a symbol must earn its place in
// the table.
func (tr *trainer) choose(t *symbolTable, last bool, total int) {
	tr.found = tr.found[:0]
	for _, c := range tr.counts.all {
		n, length := int(c.n), int(c.symbol.length)
		worth := n * length
		if length == 1 {
			worth *= 8
		}
		if last && n*total/len(tr.sample)*(length+1) <= 2*symbolCost {
			continue
		}
		tr.found = append(tr.found, candidate{c.symbol, worth})
	}
	t.reset()
	tr.found.heap()
	for len(tr.found) > 0 && len(t.list) < maxSymbols {
		t.add(tr.found.pop())
	}
}

// tally counts symbols.
type tally struct {
	// slots have 1 + the index of a symbol, 0 for none; a power of two, at most half full.
	slots []uint32
	all   []counted
}

type counted struct {
	symbol symbol
	n      uint32
}

// leastSlots are enough for the pairs of most samples.
const leastSlots = 1 << 13

func (t *tally) reset() {
	if t.slots == nil {
		t.slots = make([]uint32, leastSlots)
	}
	clear(t.slots)
	t.all = t.all[:0]
}

func (t *tally) add(s symbol) {
	at := t.slot(s)
	if t.slots[at] != 0 {
		t.all[t.slots[at]-1].n++
		return
	}
	t.all = append(t.all, counted{s, 1})
	t.slots[at] = uint32(len(t.all))
	if 2*len(t.all) > len(t.slots) {
		t.slots = make([]uint32, 2*len(t.slots))
		for i, c := range t.all {
			t.slots[t.slot(c.symbol)] = uint32(i + 1)
		}
	}
}

// slot is that of a symbol, or the free one where it belongs.
func (t *tally) slot(s symbol) uint64 {
	mask := uint64(len(t.slots) - 1)
	for at := hash(s.bytes+uint64(s.length)) >> (64 - bits.Len64(mask)); ; at = (at + 1) & mask {
		if i := t.slots[at]; i == 0 || t.all[i-1].symbol == s {
			return at
		}
	}
}

type candidate struct {
	symbol symbol
	worth  int
}

// before orders candidates: by worth, and else by length and bytes.
func (a *candidate) before(b *candidate) bool {
	if a.worth != b.worth {
		return a.worth > b.worth
	}
	if a.symbol.length != b.symbol.length {
		return a.symbol.length > b.symbol.length
	}
	return a.symbol.bytes < b.symbol.bytes
}

// candidates become a heap, the first one first: of thousands a few hundred are taken.
type candidates []candidate

func (h candidates) heap() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.sink(i)
	}
}

// sink moves a candidate down to its place.
func (h candidates) sink(i int) {
	for c := h[i]; ; {
		kid := 2*i + 1
		if kid+1 < len(h) && h[kid+1].before(&h[kid]) {
			kid++
		}
		if kid >= len(h) || !h[kid].before(&c) {
			h[i] = c
			return
		}
		h[i], i = h[kid], kid
	}
}

// pop takes the first one out.
func (h *candidates) pop() symbol {
	all := *h
	first, last := all[0].symbol, len(all)-1
	all[0] = all[last]
	if *h = all[:last]; last > 0 {
		h.sink(0)
	}
	return first
}
