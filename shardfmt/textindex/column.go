package textindex

// column is the postings of one field in one stripe, in the order of records: the terms of one record after the other.
type column struct {
	stripe uint16
	field  uint32

	records []occupied
	// chunks hold the numbers of terms, each term of a record once; all but the last are full.
	chunks [][]uint32
	count  int      // of numbers
	of     []latest // by term
}

// occupied is a record with terms: its position, and how many numbers belong to it.
type occupied struct{ position, terms uint32 }

// latest is the last record that has a term, counted from 1, and how many have it.
type latest struct{ record, records uint32 }

// Chunks grow to chunkTerms numbers, 256 KiB: nothing is copied for it, and sorting lets go of what it is done with.
const firstChunk, chunkTerms = 64, 64 << 10

// begin starts the record at a position, or goes on with it.
func (c *column) begin(position uint32) {
	if n := len(c.records); n == 0 || c.records[n-1].position != position {
		c.records = append(c.records, occupied{position: position})
	}
}

// add says that the record has a term.
func (c *column) add(id uint32) {
	for len(c.of) <= int(id) {
		c.of = append(c.of, latest{})
	}
	l, record := &c.of[id], uint32(len(c.records))
	if l.record == record {
		return
	}
	l.record = record
	l.records++
	c.records[record-1].terms++
	if n := len(c.chunks); n == 0 || len(c.chunks[n-1]) == cap(c.chunks[n-1]) {
		c.chunks = append(c.chunks, make([]uint32, 0, min(max(c.count, firstChunk), chunkTerms)))
	}
	last := &c.chunks[len(c.chunks)-1]
	*last = append(*last, id)
	c.count++
}

// size is about how many bytes are held, and will be while the column is sorted.
func (c *column) size() int {
	return 8*len(c.records) + 8*c.count + 8*len(c.of) // 4 bytes of a number of a term, 4 of its position
}

// sortedColumn is the positions of a column, term by term.
type sortedColumn struct {
	positions []uint32
	ends      []uint32 // by term
}

func (s *sortedColumn) of(id uint32) []uint32 {
	start := uint32(0)
	if id > 0 {
		start = s.ends[id-1]
	}
	return s.positions[start:s.ends[id]]
}

// sort puts the postings together by term, which keeps their order. They are let go.
func (c *column) sort(terms int) sortedColumn {
	s := sortedColumn{make([]uint32, c.count), make([]uint32, terms)}
	start := uint32(0)
	for i := range s.ends { // where the next position of a term goes; in the end, where they end
		s.ends[i] = start
		if i < len(c.of) {
			start += c.of[i].records
		}
	}
	c.of = nil
	var chunk []uint32
	for _, r := range c.records {
		for range r.terms {
			if len(chunk) == 0 {
				chunk = c.chunks[0]
				c.chunks[0], c.chunks = nil, c.chunks[1:]
			}
			at := &s.ends[chunk[0]]
			s.positions[*at] = r.position
			*at, chunk = *at+1, chunk[1:]
		}
	}
	c.records, c.count = nil, 0
	return s
}
