package textindex

import (
	"bytes"
	"fmt"
	"iter"
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

	terms dictionary
	// columns are the postings of each field, stripe by stripe; the last len(fields) are those of the stripe at hand.
	columns []*column
}

// NewBuilder starts an index over fields, whose numbers ascend. The first stripe has number 0.
func NewBuilder(c Collation, fields []Field) *Builder {
	b := &Builder{collation: c, fields: fields, terms: newDictionary()}
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
	if term.IsASCII(value) { // so are its terms, and regular
		b.fields[i].Tokenizer.Each(value, func(t []byte) { b.add(c, position, t) })
		return nil
	}
	b.fields[i].Tokenizer.Each(value, func(t []byte) {
		b.add(c, position, t)
		if r := term.Regular(t); !bytes.Equal(r, t) {
			b.add(c, position, r)
		}
	})
	return nil
}

func (b *Builder) add(c *column, position uint64, t []byte) {
	c.begin(uint32(position))
	c.add(b.terms.id(t))
}

// perTerm is about what a term takes besides its bytes: where it ends, its slot of the table and the free ones beside it, a place in the order.
const perTerm = 64

// Size is about how many bytes are held.
func (b *Builder) Size() int {
	n := len(b.terms.data) + perTerm*b.terms.count()
	for _, c := range b.columns {
		n += c.size()
	}
	return n
}

// Terms are those that were added so far, each once.
func (b *Builder) Terms() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for id := range b.terms.count() {
			if !yield(b.terms.term(uint32(id))) {
				return
			}
		}
	}
}

// TermCount is how many terms were added so far.
func (b *Builder) TermCount() int { return b.terms.count() }
