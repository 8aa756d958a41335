package textindex

import (
	"bytes"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/shardcat/shardcat/shardfmt/internal/index/tokenizer"
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
	// columns are the postings of each field, stripe by stripe; the last len(fields) are those of the stripe available.
	columns []*column
	// visit counts the records that values were added to, one field's after another's. A term whose slot has this number is in the postings of
	// the current record already.
	visit uint32
	// marks and words are those of the current value.
	marks []uint32
	words []word
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

// NextStripe ends the stripe available.
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
	if b.terms.full(2*len(value) + 2) {
		return fmt.Errorf("record %d: more than %d terms, the limit of a text index", position, maxTerms)
	}
	c, z := b.columns[len(b.columns)-len(b.fields)+i], b.fields[i].Tokenizer
	if z == UnicodeWord || z == UnicodeLog {
		var ascii bool
		if b.marks, ascii = tokenizer.AppendMarks(b.marks[:0], value); ascii {
			b.addWords(c, uint32(position), value, z == UnicodeLog)
			return nil
		}
	}
	z.Each(value, func(t []byte) {
		b.begin(c, uint32(position))
		b.add(c, b.terms.find(t))
		if r := tokenizer.Regular(t); !bytes.Equal(r, t) {
			b.add(c, b.terms.find(r))
		}
	})
	return nil
}

// begin starts the record at a position, or goes on with it.
func (b *Builder) begin(c *column, position uint32) {
	n := len(c.records)
	if n > 0 && c.records[n-1].position == position {
		if c.visit == b.visit {
			return
		}
		c.again = true
	} else {
		if n == cap(c.records) {
			c.records = slices.Grow(c.records, max(n, firstChunk)) // twice as many: a quarter more would be copied again soon
		}
		c.records = append(c.records, occupied{position: position})
	}
	if b.visit == mostVisits {
		b.terms.forget()
		b.visit = 0
	}
	b.visit++
	c.visit = b.visit
}

// add notes that the current record has the term of a slot.
func (b *Builder) add(c *column, s *slot) {
	if s.seen == b.visit {
		return
	}
	s.seen = b.visit
	chunk := c.room()
	*chunk = append(*chunk, s.id())
	c.count++
	c.terms = max(c.terms, int(s.id())+1)
	c.records[len(c.records)-1].terms++
}

// addWords adds the words of a value of ASCII, which lie between b.marks, and its addresses if they are requested. Terms of ASCII are regular.
//
// The slots of a large dictionary are in no near cache. So they are looked at twice: one after the other without asking what is in them, which
// lets the processor fetch several at a time, and then to find the terms.
func (b *Builder) addWords(c *column, position uint32, value []byte, addresses bool) {
	marks := b.marks
	if len(marks) == 0 {
		return
	}
	b.begin(c, position)
	d := &b.terms
	b.words = d.keys(b.words[:0], value, marks)
	d.fetch(b.words)
	for _, w := range b.words {
		b.add(c, d.lookup(w, value))
	}
	for k := 0; addresses && k < len(marks); k += 2 {
		if tokenizer.IsAddress(value, marks[k:]) {
			b.add(c, d.find(value[marks[k]:marks[k+7]]))
			k += 6
		}
	}
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
