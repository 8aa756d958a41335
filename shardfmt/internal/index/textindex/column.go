package textindex

import "slices"

// column is the postings of one field in one stripe, in the order of records: the terms of one record after the other.
type column struct {
	stripe uint16
	field  uint32

	records []occupied
	// chunks hold the numbers of terms, each term of a record once; all but the last are full.
	chunks [][]uint32
	count  int // of numbers
	terms  int // the greatest number and one
	// visit is the number of the last record's visit, see Builder; again means that one was visited twice, so that a term may be there twice.
	visit uint32
	again bool
}

// occupied is a record with terms: its position, and how many numbers belong to it.
type occupied struct{ position, terms uint32 }

// Chunks grow to chunkTerms numbers, 256 KiB: nothing is copied for it, and sorting lets go of what it is done with.
const firstChunk, chunkTerms = 64, 64 << 10

// room is the chunk to append numbers to, which has a place free.
func (c *column) room() *[]uint32 {
	if n := len(c.chunks); n == 0 || len(c.chunks[n-1]) == cap(c.chunks[n-1]) {
		c.chunks = append(c.chunks, make([]uint32, 0, min(max(c.count, firstChunk), chunkTerms)))
	}
	return &c.chunks[len(c.chunks)-1]
}

// size is about how many bytes are held, and will be while the column is sorted.
func (c *column) size() int {
	return 8*len(c.records) + 8*c.count + 8*c.terms // 4 bytes of a number of a term, 4 of its position
}

// sortedColumn is the positions of a column, term by term.
type sortedColumn struct {
	positions []uint32
	ends      []uint32 // by term
	again     bool     // a position may be there twice
}

func (s *sortedColumn) of(id uint32) []uint32 {
	start := uint32(0)
	if id > 0 {
		start = s.ends[id-1]
	}
	if s.again {
		return slices.Compact(s.positions[start:s.ends[id]])
	}
	return s.positions[start:s.ends[id]]
}

// sort puts the postings together by term, which keeps their order. They are let go.
func (c *column) sort(terms int) sortedColumn {
	s := sortedColumn{make([]uint32, c.count), make([]uint32, terms), c.again}
	for _, chunk := range c.chunks {
		for _, id := range chunk {
			s.ends[id]++
		}
	}
	start := uint32(0)
	for i, n := range s.ends { // where the next position of a term goes; in the end, where they end
		s.ends[i] = start
		start += n
	}
	var chunk []uint32
	for _, r := range c.records {
		for left := int(r.terms); left > 0; {
			if len(chunk) == 0 {
				chunk = c.chunks[0]
				c.chunks[0], c.chunks = nil, c.chunks[1:]
			}
			n := min(left, len(chunk))
			for _, id := range chunk[:n] {
				at := &s.ends[id]
				s.positions[*at] = r.position
				*at++
			}
			chunk, left = chunk[n:], left-n
		}
	}
	c.records, c.count = nil, 0
	return s
}
