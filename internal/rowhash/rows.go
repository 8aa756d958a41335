package rowhash

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/zeebo/xxh3"
)

// Most is how many rows are best written at a time: so many of usual size lie in the second-level cache.
const Most = 256

// Rows are the bytes of some rows: of each column what Append appends, one after the other. They are written column by column, which costs
// less than row by row. The zero value has no rows; its memory is used again.
type Rows struct {
	data    []byte
	ends    []int // where rows end, after a 0
	at      []int // where the next value of each row goes
	columns []column
	hashes  [Most]xxh3.Uint128
}

// Hash calls do with the XXH3-128 of the bytes of each row of a batch, in order.
func (r *Rows) Hash(b arrow.RecordBatch, do func(i int, h xxh3.Uint128)) error {
	for from, n := 0, int(b.NumRows()); from < n; from += Most {
		to := min(from+Most, n)
		if err := r.Set(b.Columns(), from, to); err != nil {
			return err
		}
		for i := range to - from {
			r.hashes[i] = xxh3.Hash128(r.Row(i))
		}
		for i, h := range r.hashes[:to-from] {
			do(from+i, h)
		}
	}
	return nil
}

// Row is row i, counted from the first that was set, until the next Set.
func (r *Rows) Row(i int) []byte { return r.data[r.ends[i]:r.ends[i+1]] }

// Set makes r the rows of columns between two places.
func (r *Rows) Set(columns []arrow.Array, from, to int) error {
	n := to - from
	r.at = slices.Grow(r.at[:0], n)[:n]
	clear(r.at)
	r.columns = slices.Grow(r.columns[:0], len(columns))[:len(columns)]
	for i, a := range columns {
		c := &r.columns[i]
		if err := c.set(a, from, to); err != nil {
			return err
		}
		c.addSizes(r.at)
	}
	r.ends = append(slices.Grow(r.ends[:0], n+1), 0)
	end := 0
	for i, size := range r.at {
		r.at[i] = end
		end += size
		r.ends = append(r.ends, end)
	}
	r.data = slices.Grow(r.data[:0], end)[:end]
	for i := range r.columns {
		r.columns[i].put(r.data, r.at)
	}
	return nil
}

// column are values of one column. Those of a fixed size lie in fixed, others in text up to where ends states; a value of a type that is
// written by Append is there as it is written.
type column struct {
	kind  kind
	size  int
	fixed []byte
	text  []byte
	ends  []int64
	valid []byte // a bitmap, nil if no value is null
	first int    // of the values in the bitmaps

	written []byte // to be used again
	places  []int64
}

type kind uint8

const (
	fixedKind kind = iota
	booleanKind
	textKind
	writtenKind
)

func (c *column) set(a arrow.Array, from, to int) error {
	if ext, ok := a.(array.ExtensionArray); ok {
		a = ext.Storage()
	}
	d := a.Data()
	*c = column{first: d.Offset() + from, written: c.written, places: c.places}
	if a.NullN() > 0 && d.Buffers()[0] != nil {
		c.valid = d.Buffers()[0].Bytes()
	}
	switch a := a.(type) {
	case *array.Boolean:
		c.kind, c.fixed = booleanKind, d.Buffers()[1].Bytes()
		return nil
	case *array.LargeString:
		c.setText(a.ValueOffsets(), d, from, to)
		return nil
	case *array.LargeBinary:
		c.setText(a.ValueOffsets(), d, from, to)
		return nil
	case *array.Null, array.BinaryLike, *array.Struct, array.Union, array.ListLike, *array.Dictionary:
		return c.write(a, from, to)
	}
	if b, width, ok := fixedBytes(a); ok {
		c.size, c.fixed = width, b[c.first*width:]
		return nil
	}
	return c.write(a, from, to)
}

func (c *column) setText(ends []int64, d arrow.ArrayData, from, to int) {
	c.kind = textKind
	if b := d.Buffers()[2]; b != nil {
		c.text = b.Bytes()
	}
	if len(ends) > 0 {
		c.ends = ends[from : to+1]
	}
}

// write writes values one by one.
func (c *column) write(a arrow.Array, from, to int) (err error) {
	b, ends := c.written[:0], append(c.places[:0], 0)
	for i := from; i < to; i++ {
		if b, err = Append(b, a, i); err != nil {
			return err
		}
		ends = append(ends, int64(len(b)))
	}
	c.kind, c.written, c.places = writtenKind, b, ends
	c.text, c.ends, c.valid = b, ends, nil
	return nil
}

// isValid reports whether value i is not null.
func (c *column) isValid(i int) bool { return c.valid == nil || bitutil.BitIsSet(c.valid, c.first+i) }

// addSizes adds the sizes of the values, as they are written, to those of their rows.
func (c *column) addSizes(sizes []int) {
	switch c.kind {
	case textKind:
		for i := range sizes {
			sizes[i]++
			if c.isValid(i) {
				n := int(c.ends[i+1] - c.ends[i])
				sizes[i] += (bits.Len(uint(n)|1)+6)/7 + n
			}
		}
	case writtenKind:
		for i := range sizes {
			sizes[i] += int(c.ends[i+1] - c.ends[i])
		}
	default:
		size := c.size
		if c.kind == booleanKind {
			size = 1
		}
		for i := range sizes {
			sizes[i]++
			if c.isValid(i) {
				sizes[i] += size
			}
		}
	}
}

// put writes the values where at states, and moves that behind them.
func (c *column) put(data []byte, at []int) {
	switch {
	case c.kind == writtenKind:
		for i, p := range at {
			at[i] += copy(data[p:], c.text[c.ends[i]:c.ends[i+1]])
		}
	case c.kind == textKind:
		c.putTexts(data, at)
	case c.kind == booleanKind:
		for i, p := range at {
			if c.putMark(data, at, i) {
				data[p+1] = 0
				if bitutil.BitIsSet(c.fixed, c.first+i) {
					data[p+1] = 1
				}
				at[i]++
			}
		}
	case c.size == 8:
		for i, p := range at {
			if c.putMark(data, at, i) {
				binary.LittleEndian.PutUint64(data[p+1:], binary.LittleEndian.Uint64(c.fixed[8*i:]))
				at[i] += 8
			}
		}
	default:
		for i, p := range at {
			if c.putMark(data, at, i) {
				at[i] += copy(data[p+1:], c.fixed[c.size*i:c.size*(i+1)])
			}
		}
	}
}

// putMark writes the first byte of value i, and reports whether more follows.
func (c *column) putMark(data []byte, at []int, i int) bool {
	mark := byte(isValue)
	if !c.isValid(i) {
		mark = isNull
	}
	data[at[i]] = mark
	at[i]++
	return mark == isValue
}

func (c *column) putTexts(data []byte, at []int) {
	for i := range at {
		if !c.putMark(data, at, i) {
			continue
		}
		v := c.text[c.ends[i]:c.ends[i+1]]
		p := at[i] + binary.PutUvarint(data[at[i]:], uint64(len(v)))
		at[i] = p + copy(data[p:], v)
	}
}
