package column

import (
	"bytes"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// unionColumn is a field of unions: DATA reports the variant of each position. Without OFFSETS every variant has
// all positions of the union (the book's dense form); with OFFSETS a position's value is at its offset in the
// sequence of its variant.
type unionColumn struct {
	typ      *arrow.SparseUnionType
	fields   []arrow.Field // the variants
	variants *numbers[uint8]
	offsets  *numbers[uint64]
	presence *bitReader
	children []Column
	counts   []uint64
}

func (f *stored) unionColumn() (Column, error) {
	typ, ok := f.typ.(*arrow.SparseUnionType)
	if !ok || len(f.node.Children) == 0 {
		return nil, f.unsupported("union type")
	}
	s, err := f.stream(metapb.BufferKind_DATA, f.count)
	if err != nil {
		return nil, err
	}
	c := &unionColumn{typ: typ, fields: arrowtype.VariantsOf(typ, len(f.node.Children)), variants: openNumbers[uint8](s, f)}
	if c.presence, err = f.presence(); err != nil {
		return nil, err
	}
	if f.buffer(metapb.BufferKind_OFFSETS) == nil {
		c.children, err = f.children(f.count)
		return c, err
	}
	if s, err = f.stream(metapb.BufferKind_OFFSETS, f.count); err != nil {
		return nil, err
	}
	c.offsets = openNumbers[uint64](s, f)
	for _, n := range f.node.Children {
		child, count, err := f.o.openChild(n)
		if err != nil {
			return nil, err
		}
		c.children, c.counts = append(c.children, child), append(c.counts, count)
	}
	return c, nil
}

func (c *unionColumn) Need(ranges []colstream.Range, whole bool) ([]colstream.Request, error) {
	parts := []needer{c.variants, c.presence}
	if c.offsets == nil {
		return needAll(ranges, whole, append(parts, needers(c.children)...)...)
	}
	out, err := needAll(ranges, whole, append(parts, c.offsets)...)
	if err != nil {
		return nil, err
	}
	for i, child := range c.children { // which positions a range needs is not known: all of them
		var all []colstream.Range
		if c.counts[i] != unknown {
			all = []colstream.Range{{Start: 0, End: c.counts[i]}}
		}
		more, err := child.Need(all, true)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

func (c *unionColumn) Read(r colstream.Range) (arrow.ArrayData, error) {
	if err := c.variants.mem.Take(9 * r.Len()); err != nil { // and the offsets
		return nil, err
	}
	codes := make([]uint8, r.Len())
	v := &validity{n: len(codes)}
	if err := c.variants.read(codes, r.Start, v, 0); err != nil {
		return nil, err
	}
	if err := c.presence.and(v, r); err != nil {
		return nil, err
	}
	for i, code := range codes {
		if v.bits != nil && !bitutil.BitIsSet(v.bits, i) {
			codes[i] = 0 // a null's variant has no meaning
		} else if int(code) >= len(c.children) {
			return nil, corrupt.Locate(corrupt.At(int64(c.variants.Start), "variant %d of %d at position %d",
				code, len(c.children), r.Start+uint64(i)), c.variants.URL, 0)
		}
	}
	children, err := c.readChildren(r, codes, v)
	if err != nil {
		return nil, err
	}
	hideNulls(children, v)
	return arrowtype.NewUnion(c.typ, codes, children), nil
}

func (c *unionColumn) readChildren(r colstream.Range, codes []uint8, v *validity) ([]arrow.ArrayData, error) {
	if c.offsets == nil {
		return readAll(c.children, r)
	}
	offsets := make([]uint64, len(codes))
	if err := c.offsets.read(offsets, r.Start, nil, 0); err != nil {
		return nil, err
	}
	out := make([]arrow.ArrayData, len(c.children))
	for i := range c.children {
		var err error
		if out[i], err = c.spread(i, codes, offsets, v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// spread gives the values of a variant at the slots that have it, nulls at the others and where the union is.
func (c *unionColumn) spread(variant int, codes []uint8, offsets []uint64, v *validity) (arrow.ArrayData, error) {
	has := func(i int) bool {
		return int(codes[i]) == variant && (v.bits == nil || bitutil.BitIsSet(v.bits, i))
	}
	typ := c.fields[variant].Type
	var runs []arrow.Array
	for i := 0; i < len(codes); {
		j := i + 1
		mine := has(i)
		for j < len(codes) && has(j) == mine && (!mine || offsets[j] == offsets[j-1]+1) {
			j++
		}
		if err := c.chargeRun(typ, mine, j-i); err != nil {
			return nil, err
		}
		if !mine {
			runs = append(runs, array.MakeFromData(nulls(typ, j-i)))
			i = j
			continue
		}
		in := colstream.Range{Start: offsets[i], End: offsets[i] + uint64(j-i)}
		if in.End < in.Start || in.End > c.counts[variant] {
			return nil, corrupt.Locate(corrupt.At(int64(c.offsets.Start), "offset %d of variant %d, which has %d positions",
				in.Start, variant, c.counts[variant]), c.offsets.URL, 0)
		}
		data, err := c.children[variant].Read(in)
		if err != nil {
			return nil, err
		}
		runs = append(runs, array.MakeFromData(data))
		i = j
	}
	if len(runs) == 0 {
		return nulls(typ, 0), nil
	}
	size := uint64(0)
	for _, r := range runs {
		size += SizeOf(r.Data())
	}
	if err := c.variants.mem.Take(size); err != nil {
		return nil, err
	}
	return concatenate(runs)
}

// runBytes is about what one run costs besides its values.
const runBytes = 512

// chargeRun charges a run of n slots that are joined to the others, and its nulls where it has no values.
func (c *unionColumn) chargeRun(typ arrow.DataType, mine bool, n int) error {
	size := uint64(runBytes)
	if !mine {
		size += min(sizeOfNulls(typ, uint64(n)), math.MaxInt64)
	}
	return c.variants.mem.Take(size)
}

// hideNulls makes the first variant, which they have, null where the union is: Arrow's unions have no nulls of their own.
func hideNulls(children []arrow.ArrayData, v *validity) {
	if v.bits == nil {
		return
	}
	children[0] = masked(children[0], &validity{n: v.n, bits: v.bits})
}

// masked gives data, which starts at its buffers' start, with more nulls. A union becomes null by choosing its first variant, made
// null there.
func masked(data arrow.ArrayData, mask *validity) arrow.ArrayData {
	switch data.DataType().ID() {
	case arrow.NULL:
		return data
	case arrow.SPARSE_UNION:
		codes := bytes.Clone(data.Buffers()[1].Bytes()[:mask.n])
		for i := range codes {
			if !bitutil.BitIsSet(mask.bits, i) {
				codes[i] = 0
			}
		}
		children := slices.Clone(data.Children())
		children[0] = masked(children[0], &validity{n: mask.n, bits: bytes.Clone(mask.bits)})
		return array.NewData(data.DataType(), mask.n, []*memory.Buffer{nil, memory.NewBufferBytes(codes)}, children, 0, 0)
	}
	buffers := append([]*memory.Buffer{}, data.Buffers()...)
	if buffers[0] != nil {
		mask.and(buffers[0].Bytes())
	}
	var nulls int
	buffers[0], nulls = mask.buffer()
	return array.NewData(data.DataType(), mask.n, buffers, data.Children(), nulls, 0)
}

func (c *unionColumn) Release(pos uint64) {
	c.variants.Release(pos)
	c.presence.Release(pos)
	if c.offsets != nil {
		c.offsets.Release(pos)
		return
	}
	for _, child := range c.children {
		child.Release(pos)
	}
}

func (c *unionColumn) Size() uint64 {
	n := c.variants.Size() + c.presence.Size() + sizes(c.children)
	if c.offsets != nil {
		n += c.offsets.Size()
	}
	return n
}
