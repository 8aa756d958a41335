package column

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// ErrTooLarge: a Read requested more than one array should hold; use fewer positions.
var ErrTooLarge = budget.ErrBatch

// ends reads an OFFSETS buffer: where the values of each position start and end in another sequence.
type ends struct {
	*numbers[uint64]
	count uint64
}

// ends opens the OFFSETS buffer.
func (f *stored) ends() (*ends, error) {
	s, err := f.stream(metapb.BufferKind_OFFSETS, f.count+1)
	if err != nil {
		return nil, err
	}
	return &ends{openNumbers[uint64](s, f), f.count}, nil
}

// Need requests one offset more than there are positions.
func (e *ends) Need(ranges []colstream.Range, whole bool) ([]colstream.Request, error) {
	in := make([]colstream.Range, 0, len(ranges))
	for _, r := range ranges {
		if n := len(in); n > 0 && in[n-1].End > r.Start {
			in[n-1].End = r.End + 1
		} else {
			in = append(in, colstream.Range{Start: r.Start, End: r.End + 1})
		}
	}
	return e.numbers.Need(in, whole)
}

// spans gives the positions of the other sequence that belong to each of ranges.
func (e *ends) spans(ranges []colstream.Range) ([]colstream.Range, error) {
	var out []colstream.Range
	last := uint64(0)
	for _, r := range ranges {
		var at [2]uint64
		for i, pos := range [...]uint64{r.Start, r.End} {
			if err := e.numbers.read(at[i:i+1], pos, nil, 0); err != nil {
				return nil, err
			}
		}
		if at[0] < last || at[1] < at[0] {
			return nil, e.broken(r.Start)
		}
		last = at[1]
		if n := len(out); n > 0 && out[n-1].End == at[0] {
			out[n-1].End = at[1]
		} else {
			out = append(out, colstream.Range{Start: at[0], End: at[1]})
		}
	}
	return out, nil
}

func (e *ends) broken(pos uint64) error {
	return corrupt.Locate(corrupt.At(int64(e.Start), "offsets fall near position %d", pos), e.URL, 0)
}

// read gives the offsets of r, counted from the first of them, and what they span.
func (e *ends) read(r colstream.Range) ([]int64, colstream.Range, error) {
	if err := e.mem.Take(12 * (r.Len() + 1)); err != nil { // counted from the first, and in 32 bits for maps
		return nil, colstream.Range{}, err
	}
	out := budget.LendOf[int64](e.mem, r.Len()+1)
	if err := e.numbers.read(simd.Cast[uint64](out), r.Start, nil, 0); err != nil {
		return nil, colstream.Range{}, err
	}
	first, last := out[0], out[r.Len()]
	if rise := simd.MoveEnds(out, -first); !rise || r.Start == 0 && first != 0 {
		return nil, colstream.Range{}, e.broken(r.Start + fall(out, first))
	}
	span := colstream.Range{Start: uint64(first), End: uint64(last)}
	if span.Len() > maxRead {
		return nil, span, ErrTooLarge
	}
	return out, span, nil
}

// fall is the place of the first end that is negative or less than the one before; ends are counted from a number. It is 0 if there is none.
func fall(ends []int64, from int64) uint64 {
	last := int64(0)
	for i, at := range ends {
		if at += from; at < last {
			return uint64(i)
		}
		last = at
	}
	return 0
}

// listColumn is a field of lists or maps.
type listColumn struct {
	typ      arrow.DataType
	isMap    bool
	offsets  *ends
	presence *bitReader
	children []Column
	counts   []uint64
	// The last Read ended at position end, whose children end at childEnd.
	end, childEnd uint64
}

func (f *stored) listColumn() (Column, error) {
	c := &listColumn{typ: f.typ, isMap: f.node.Basic == schema.Map}
	if want := 1; c.isMap && len(f.node.Children) != 2 || !c.isMap && len(f.node.Children) != want {
		return nil, f.corrupt("%d children", len(f.node.Children))
	}
	var err error
	if c.offsets, err = f.ends(); err != nil {
		return nil, err
	}
	if c.presence, err = f.presence(); err != nil {
		return nil, err
	}
	for _, n := range f.node.Children {
		child, count, err := f.o.openChild(n)
		if err != nil {
			return nil, err
		}
		c.children, c.counts = append(c.children, child), append(c.counts, count)
	}
	return c, nil
}

// openChild opens a child of a list, of which only its own descriptor knows how many positions it has; one
// without descriptor has as many as are requested.
func (o *opener) openChild(n *schema.Node) (Column, uint64, error) {
	c, err := o.open(n, unknown, 0)
	if err != nil {
		return nil, 0, err
	}
	d, _, err := o.src.StripeField(o.ctx, o.stripe, n.ID)
	if d.GetField() == nil {
		return c, unknown, err
	}
	return c, d.GetField().GetPositionCount(), err
}

func (c *listColumn) Need(ranges []colstream.Range, whole bool) ([]colstream.Request, error) {
	out, err := needAll(ranges, whole, c.offsets, c.presence)
	if err != nil || len(out) > 0 && !whole {
		return out, err
	}
	var in []colstream.Range
	if len(out) == 0 {
		if in, err = c.offsets.spans(ranges); err != nil {
			return nil, err
		}
	}
	for i, child := range c.children {
		if n := len(in); n > 0 && in[n-1].End > c.counts[i] {
			return nil, c.disagrees(in[n-1].End, i)
		}
		more, err := child.Need(in, whole)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// disagrees is the error of an offset behind the end of a child, or of a last offset before it.
func (c *listColumn) disagrees(end uint64, child int) error {
	return corrupt.Locate(corrupt.At(int64(c.offsets.Start), "offset %d, the child has %d positions",
		end, c.counts[child]), c.offsets.URL, 0)
}

func (c *listColumn) Read(r colstream.Range) (arrow.ArrayData, error) {
	offsets, span, err := c.offsets.read(r)
	if err != nil {
		return nil, err
	}
	c.end, c.childEnd = r.End, span.End
	v := &validity{n: int(r.Len())}
	if err := c.presence.and(v, r); err != nil {
		return nil, err
	}
	var children []arrow.ArrayData
	for i, child := range c.children {
		if span.End > c.counts[i] || r.End == c.offsets.count && c.counts[i] != unknown && span.End < c.counts[i] {
			return nil, c.disagrees(span.End, i)
		}
		a, err := child.Read(span)
		if err != nil {
			return nil, err
		}
		children = append(children, a)
	}
	if c.isMap {
		short := budget.LendOf[int32](c.offsets.mem, r.Len()+1)
		return mapData(c.typ.(*arrow.MapType), v, offsets, short, children), nil
	}
	return newData(c.typ, v, []*memory.Buffer{bufferOf(offsets)}, children...), nil
}

// mapData makes an array of maps; its offsets have 32 bits, which maxRead keeps them to, and go into short. Arrow refuses maps
// with null keys by their null count: so keys have their bitmap and a count of 0, and are null all the same.
func mapData(typ *arrow.MapType, v *validity, offsets []int64, short []int32, children []arrow.ArrayData) arrow.ArrayData {
	keys := children[0]
	n := keys.Len()
	if keys.NullN() > 0 {
		children[0] = array.NewData(keys.DataType(), n, keys.Buffers(), keys.Children(), 0, keys.Offset())
	}
	for i, o := range offsets {
		short[i] = int32(o)
	}
	entries := array.NewData(typ.Elem(), n, []*memory.Buffer{nil}, children, 0, 0)
	return newData(typ, v, []*memory.Buffer{bufferOf(short)}, entries)
}

// Release lets go of the children's values only as far as the last Read: from there on it is known where they
// lie.
func (c *listColumn) Release(pos uint64) {
	c.offsets.Release(pos)
	c.presence.Release(pos)
	if pos >= c.end {
		for _, child := range c.children {
			child.Release(c.childEnd)
		}
	}
}

func (c *listColumn) Size() uint64 {
	return c.offsets.Size() + c.presence.Size() + sizes(c.children)
}

func sizes(columns []Column) (n uint64) {
	for _, c := range columns {
		n += c.Size()
	}
	return n
}
