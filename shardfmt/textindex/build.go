package textindex

import (
	"bytes"
	"fmt"
	"math"

	"github.com/shardcat/shardcat/internal/term"
)

// Field is an indexed field.
type Field struct {
	// ID is the number of its node in the schema.
	ID        uint32
	Tokenizer Tokenizer
}

// maxPosition is the greatest position that a builder takes: more are no use of the reference, whose builder ends there.
const maxPosition = math.MaxUint32

// Builder collects the terms of values and writes an index of them. Not for concurrent use.
type Builder struct {
	collation Collation
	fields    []Field

	ids   map[string]uint32 // of the terms
	terms []string          // by id
	bytes int               // of terms
	// columns are the postings of each field, stripe by stripe; the last len(fields) are those of the stripe at hand.
	columns []*column
}

// column is the postings of one field in one stripe.
type column struct {
	stripe uint16
	field  uint32
	// postings are term<<32 | position in the order of positions; last holds by term its last position and one.
	postings []uint64
	last     []uint64
}

// NewBuilder starts an index over fields, whose numbers ascend. The first stripe has number 0.
func NewBuilder(c Collation, fields []Field) *Builder {
	b := &Builder{collation: c, fields: fields, ids: make(map[string]uint32)}
	b.open(0)
	return b
}

func (b *Builder) open(stripe uint16) {
	for _, f := range b.fields {
		b.columns = append(b.columns, &column{stripe: stripe, field: f.ID})
	}
}

// NextStripe ends the stripe at hand.
func (b *Builder) NextStripe() error {
	last := b.columns[len(b.columns)-1].stripe
	if last == math.MaxUint16 {
		return fmt.Errorf("a text index covers %d stripes at most", math.MaxUint16+1)
	}
	for _, c := range b.columns[len(b.columns)-len(b.fields):] {
		c.last = nil
	}
	b.open(last + 1)
	return nil
}

// Add takes the value of field i, in the order of NewBuilder, of the record at a position. Positions of a field ascend;
// an element of a list may have the same as the one before.
func (b *Builder) Add(i int, position uint64, value []byte) error {
	if position > maxPosition {
		return fmt.Errorf("record %d is beyond the %d that a text index covers", position, uint64(maxPosition)+1)
	}
	c := b.columns[len(b.columns)-len(b.fields)+i]
	b.fields[i].Tokenizer.Each(value, func(t []byte) {
		b.add(c, position, t)
		if r := term.Regular(t); !bytes.Equal(r, t) {
			b.add(c, position, r)
		}
	})
	return nil
}

func (b *Builder) add(c *column, position uint64, t []byte) {
	id, known := b.ids[string(t)]
	if !known {
		id = uint32(len(b.terms))
		s := string(t)
		b.ids[s] = id
		b.terms = append(b.terms, s)
		b.bytes += len(s)
	}
	for len(c.last) <= int(id) {
		c.last = append(c.last, 0)
	}
	if c.last[id] != position+1 {
		c.last[id] = position + 1
		c.postings = append(c.postings, uint64(id)<<32|position)
	}
}

// perTerm is about what a term takes besides its bytes: a string, an entry of the map, its last position.
const perTerm = 64

// Size is about how many bytes are held.
func (b *Builder) Size() int {
	n := b.bytes + perTerm*len(b.terms)
	for _, c := range b.columns {
		n += 12 * len(c.postings) // and 4 while they are sorted
	}
	return n
}

// Terms are those that were added so far, each once. They must not be changed.
func (b *Builder) Terms() []string { return b.terms }
