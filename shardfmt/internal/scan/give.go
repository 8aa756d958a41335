package scan

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/internal/budget"
)

// A batch that its reader may keep becomes its reader's: memory that was lent for it goes with it, and comes back when the last
// reference to it is released. What decoding put together has any number of references, so all is put together again, each part
// with the one reference of what it is a part of. Fetched memory that a buffer lies in, as a dictionary may, is left alone.

// giver puts arrays of a batch together again.
type giver struct {
	lent  *budget.Giving // nil if nothing was lent
	fetch *fetcher
}

// data puts an array together again, with its children and its dictionary, of buffers that own what was lent for them.
func (g giver) data(d arrow.ArrayData) arrow.ArrayData {
	buffers := make([]*memory.Buffer, len(d.Buffers()))
	for i, b := range d.Buffers() {
		buffers[i] = g.buffer(b)
	}
	children := make([]arrow.ArrayData, len(d.Children()))
	for i, c := range d.Children() {
		children[i] = g.data(c)
	}
	out := array.NewData(d.DataType(), d.Len(), buffers, children, d.NullN(), d.Offset())
	for _, b := range buffers {
		if b != nil {
			b.Release()
		}
	}
	for _, c := range children {
		c.Release()
	}
	if dict, ok := d.Dictionary().(*array.Data); ok && dict != nil {
		dict := g.data(dict)
		out.SetDictionary(dict)
		dict.Release()
	}
	return out
}

// inPlace gives buffers of a column what was lent for them. It does so only if the column is of nothing else, of no other arrays, and
// no column before it is the same: then it was made for this batch, and has the one reference that it was made with.
func (g giver) inPlace(d arrow.ArrayData) bool {
	dict, _ := d.Dictionary().(*array.Data)
	if len(d.Children()) > 0 || dict != nil {
		return false
	}
	lent := 0
	for _, b := range d.Buffers() {
		if b == nil || b.Len() == 0 {
			continue
		}
		if !g.lent.Owes(b) {
			return false
		}
		lent++
	}
	for i, b := range d.Buffers() {
		d.Buffers()[i] = g.lent.Buffer(b)
	}
	return lent > 0
}

// buffer gives a buffer with what it lies in.
func (g giver) buffer(b *memory.Buffer) *memory.Buffer {
	if b == nil || b.Len() == 0 {
		return b
	}
	given := g.lent.Buffer(b)
	if given == b {
		g.fetch.leave(b.Bytes())
	}
	return given
}

// record makes a record batch of columns of n rows.
func record(types *arrow.Schema, columns []arrow.ArrayData, n int) arrow.RecordBatch {
	return array.NewRecordBatch(types, appendArrays(make([]arrow.Array, 0, len(columns)), columns), int64(n))
}

// appendArrays adds the arrays of columns.
func appendArrays(arrays []arrow.Array, columns []arrow.ArrayData) []arrow.Array {
	for _, c := range columns {
		arrays = append(arrays, array.MakeFromData(c))
	}
	return arrays
}

// givenRecord is record of columns that become the caller's with it; s is the stripe or the lane that decoded them.
func givenRecord(types *arrow.Schema, columns []arrow.ArrayData, n int, s *stripe) arrow.RecordBatch {
	g := giver{s.mem.Give(), s.fetch}
	for i, c := range columns {
		if !g.inPlace(c) {
			columns[i] = g.data(c)
		}
	}
	g.lent.Close()
	b := s.record(types, columns, n)
	for i, a := range b.Columns() {
		a.Release() // the batch has a reference of its own
		columns[i].Release()
	}
	return b
}

// list gives a list for the columns of the current batch, in memory that is used again.
func (s *stripe) list(columns int) []arrow.ArrayData {
	s.data = slices.Grow(s.data[:0], columns)[:columns]
	return s.data
}

// record is record with a list that is used again.
func (s *stripe) record(types *arrow.Schema, columns []arrow.ArrayData, n int) arrow.RecordBatch {
	s.arrays = appendArrays(s.arrays[:0], columns)
	b := array.NewRecordBatch(types, s.arrays, int64(n))
	clear(s.arrays) // which are the batch's
	return b
}
