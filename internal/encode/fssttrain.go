package encode

import (
	"cmp"
	"slices"
)

// trainer makes symbol tables. In each round it cuts a sample with the table so far, counts symbols and
// pairs of neighbours, and takes the worthiest of both as the next table.
type trainer struct {
	sample []byte
	counts map[symbol]int
	found  []candidate
}

type candidate struct {
	symbol symbol
	worth  int
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
	if tr.counts == nil {
		tr.counts = make(map[symbol]int)
	}
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
	clear(tr.counts)
	var last symbol
	for text := tr.sample; len(text) > 0; {
		word := load8(text)
		code, length := t.find(word, len(text))
		s := symbol{bytes: word & 0xff, length: 1}
		if length > 0 {
			s = t.list[code]
		}
		tr.counts[s]++
		if s.length > 1 {
			tr.counts[symbol{bytes: word & 0xff, length: 1}]++
		}
		if joined := last.length + s.length; last.length > 0 && joined <= 8 {
			tr.counts[symbol{bytes: last.bytes | s.bytes<<(8*last.length), length: joined}]++
		}
		if s.length > 1 && last.length > 0 && last.length < 8 {
			tr.counts[symbol{bytes: last.bytes | word&0xff<<(8*last.length), length: last.length + 1}]++
		}
		last = s
		text = text[s.length:]
	}
}

// choose makes the worthiest candidates the symbols of t. In the last round a symbol must earn its place in
// the table.
func (tr *trainer) choose(t *symbolTable, last bool, total int) {
	tr.found = tr.found[:0]
	for s, n := range tr.counts {
		worth := n * int(s.length)
		if s.length == 1 {
			worth *= 8
		}
		if last && n*total/len(tr.sample)*(int(s.length)+1) <= 2*symbolCost {
			continue
		}
		tr.found = append(tr.found, candidate{s, worth})
	}
	slices.SortFunc(tr.found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.worth, a.worth), cmp.Compare(b.symbol.length, a.symbol.length),
			cmp.Compare(a.symbol.bytes, b.symbol.bytes))
	})
	t.reset()
	for _, c := range tr.found {
		if len(t.list) == maxSymbols {
			break
		}
		t.add(c.symbol)
	}
}
