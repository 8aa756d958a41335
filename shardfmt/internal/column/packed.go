package column

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// group is the packed group of a struct: blocks of its children, the members, side by side in super-blocks.
type group struct {
	stream *colstream.Stream
	// taken are the members that were opened.
	taken map[uint32]bool
}

// member gives the stream of the field in the group of its parent.
func (f *stored) member(b *metapb.EncodedBuffer) (*colstream.Stream, error) {
	i := *b.PackedGroupIndex
	switch {
	case b.Kind != metapb.BufferKind_DATA || len(f.encoding.GetBuffers()) != 1 || b.Buffer != nil:
		return nil, f.corrupt("a member of a packed group has one buffer, DATA, without a reference")
	case i >= 1<<31:
		return nil, f.corrupt("member %d of a packed group", i)
	case f.group.taken[i]:
		return nil, f.corrupt("a second member %d of a packed group", i)
	}
	f.group.taken[i] = true
	return f.group.stream.Member(int(i)), nil
}

// packedColumn is a struct that is stored as a packed group. Children that are not members are stored as others are.
type packedColumn struct {
	typ      arrow.DataType
	group    *group
	presence *packedPresence // nil if no struct is null
	children []Column
}

func (f *stored) packedColumn() (Column, error) {
	b := f.buffer(metapb.BufferKind_DATA)
	if b == nil || len(f.encoding.Buffers) != 1 {
		return nil, f.corrupt("a packed group has one buffer, DATA")
	}
	s, err := f.stream(metapb.BufferKind_DATA, f.count)
	if err != nil {
		return nil, err
	}
	c := &packedColumn{typ: f.typ, group: &group{stream: s, taken: make(map[uint32]bool)}}
	if b.EmbeddedPresence {
		c.presence = &packedPresence{n: openNumbers[uint8](s.Member(colstream.LastMember), f)}
	}
	for _, n := range f.node.Children {
		child, err := f.o.openIn(c.group, n, f.count, 0)
		if err != nil {
			return nil, err
		}
		c.children = append(c.children, child)
	}
	return c, nil
}

// Need requests whole super-blocks: all members come in one request.
func (c *packedColumn) Need(ranges []colstream.Range, whole bool) ([]colstream.Request, error) {
	parts := needers(c.children)
	if c.presence != nil || len(c.group.taken) > 0 {
		parts = append(parts, c.group.stream)
	}
	return needAll(ranges, whole, parts...)
}

func (c *packedColumn) Read(r colstream.Range) (arrow.ArrayData, error) {
	v := &validity{n: int(r.Len())}
	if c.presence != nil {
		if err := c.presence.read(v, r); err != nil {
			return nil, err
		}
	}
	children, err := readAll(c.children, r)
	if err != nil {
		return nil, err
	}
	return newData(c.typ, v, nil, children...), nil
}

func (c *packedColumn) Release(pos uint64) {
	c.group.stream.Release(pos)
	for _, child := range c.children {
		child.Release(pos)
	}
}

func (c *packedColumn) Size() uint64 { return c.group.stream.Size() + sizes(c.children) }

// packedPresence reports which structs of a packed group are null: the last member of each super-block has presence and no values.
type packedPresence struct {
	n *numbers[uint8]
}

// read clears in v what is null among the positions of r.
func (p *packedPresence) read(v *validity, r colstream.Range) error {
	m := p.n.Map()
	if r.End > m.Values() {
		return corrupt.Locate(corrupt.At(-1, "positions [%d, %d) of %d", r.Start, r.End, m.Values()), p.n.URL, 0)
	}
	if r.Len() == 0 {
		return nil
	}
	at := r.Start
	for i := m.Find(r.Start); at < r.End; i++ {
		first, last := m.Span(i)
		stop := min(last, r.End)
		f, err := p.n.open(i, int(last-first))
		if err != nil {
			return err
		}
		if len(f.Values) > 0 {
			return p.n.Locate(corrupt.At(0, "values in the presence of a packed group"), i, f.ValuesOffset())
		}
		if p.n.present != nil {
			v.put(int(at-r.Start), p.n.present, int(at-first), int(stop-at))
		}
		at = stop
	}
	return nil
}

// packedBoolColumn is a field of booleans in a packed group: a byte for each, and nulls inside the blocks.
type packedBoolColumn struct {
	typ  arrow.DataType
	data *numbers[uint8]
}

func (f *stored) packedBools() (Column, error) {
	s, err := f.stream(metapb.BufferKind_DATA, f.count)
	if err != nil {
		return nil, err
	}
	return &packedBoolColumn{f.typ, openNumbers[uint8](s, f)}, nil
}

func (c *packedBoolColumn) Need(ranges []colstream.Range, whole bool) ([]colstream.Request, error) {
	return c.data.Need(ranges, whole)
}

func (c *packedBoolColumn) Read(r colstream.Range) (arrow.ArrayData, error) {
	if err := c.data.mem.Take(r.Len() + r.Len()/8 + 1); err != nil {
		return nil, err
	}
	vals := make([]uint8, r.Len())
	v := &validity{n: len(vals)}
	if err := c.data.read(vals, r.Start, v, 0); err != nil {
		return nil, err
	}
	bits := make([]byte, (len(vals)+7)/8)
	for i, b := range vals {
		if b > 1 {
			return nil, corrupt.Locate(corrupt.At(-1, "boolean %d at position %d", b, r.Start+uint64(i)), c.data.URL, 0)
		}
		bitutil.SetBitTo(bits, i, b == 1)
	}
	return newData(c.typ, v, []*memory.Buffer{memory.NewBufferBytes(bits)}), nil
}

func (c *packedBoolColumn) Release(uint64) {}
func (c *packedBoolColumn) Size() uint64   { return 0 }
