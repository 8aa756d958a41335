package column

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
)

// structColumn is a field of structs: children have the positions of the parent.
type structColumn struct {
	typ      arrow.DataType
	presence *bitReader
	children []Column
}

func (f *stored) structColumn() (Column, error) {
	if f.encoding.GetPackedGroup() {
		return f.packedColumn()
	}
	p, err := f.presence()
	if err != nil {
		return nil, err
	}
	c := &structColumn{typ: f.typ, presence: p}
	c.children, err = f.children(f.count)
	return c, err
}

// children opens the children of a node, each of count positions.
func (f *stored) children(count uint64) ([]Column, error) {
	var out []Column
	for _, n := range f.node.Children {
		c, err := f.o.open(n, count, 0)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func (c *structColumn) Need(ranges []colstream.Range, whole bool) ([]colstream.Request, error) {
	return needAll(ranges, whole, append(needers(c.children), c.presence)...)
}

func needers(columns []Column) []needer {
	out := make([]needer, 0, len(columns)+2)
	for _, c := range columns {
		out = append(out, c)
	}
	return out
}

func (c *structColumn) Read(r colstream.Range) (arrow.ArrayData, error) {
	v := &validity{n: int(r.Len())}
	if err := c.presence.and(v, r); err != nil {
		return nil, err
	}
	children, err := readAll(c.children, r)
	if err != nil {
		return nil, err
	}
	return newData(c.typ, v, nil, children...), nil
}

func readAll(columns []Column, r colstream.Range) ([]arrow.ArrayData, error) {
	out := make([]arrow.ArrayData, len(columns))
	for i, c := range columns {
		var err error
		if out[i], err = c.Read(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c *structColumn) Release(pos uint64) {
	c.presence.Release(pos)
	for _, child := range c.children {
		child.Release(pos)
	}
}

func (c *structColumn) Size() uint64 { return c.presence.Size() + sizes(c.children) }

// fixedListColumn is a field of lists of n elements each.
type fixedListColumn struct {
	typ      arrow.DataType
	n        uint64
	presence *bitReader
	child    Column
}

func (f *stored) fixedListColumn() (Column, error) {
	if len(f.node.Children) != 1 {
		return nil, f.corrupt("%d children", len(f.node.Children))
	}
	p, err := f.presence()
	if err != nil {
		return nil, err
	}
	total, ok := multiply(f.count, f.node.FixedSize)
	if !ok || total >= unknown {
		return nil, f.corrupt("%d lists of %d elements", f.count, f.node.FixedSize)
	}
	child, err := f.o.open(f.node.Children[0], total, 0)
	return &fixedListColumn{f.typ, f.node.FixedSize, p, child}, err
}

// scaled gives the positions of the elements of r.
func (c *fixedListColumn) scaled(r colstream.Range) colstream.Range {
	return colstream.Range{Start: r.Start * c.n, End: r.End * c.n}
}

func (c *fixedListColumn) Need(ranges []colstream.Range, whole bool) ([]colstream.Request, error) {
	out, err := c.presence.Need(ranges, whole)
	if err != nil {
		return nil, err
	}
	in := make([]colstream.Range, len(ranges))
	for i, r := range ranges {
		in[i] = c.scaled(r)
	}
	more, err := c.child.Need(in, whole)
	return append(out, more...), err
}

func (c *fixedListColumn) Read(r colstream.Range) (arrow.ArrayData, error) {
	if c.scaled(r).Len() > maxRead {
		return nil, ErrTooLarge
	}
	v := &validity{n: int(r.Len())}
	if err := c.presence.and(v, r); err != nil {
		return nil, err
	}
	child, err := c.child.Read(c.scaled(r))
	if err != nil {
		return nil, err
	}
	return newData(c.typ, v, nil, child), nil
}

func (c *fixedListColumn) Release(pos uint64) {
	c.presence.Release(pos)
	c.child.Release(pos * c.n)
}

func (c *fixedListColumn) Size() uint64 { return c.presence.Size() + c.child.Size() }
