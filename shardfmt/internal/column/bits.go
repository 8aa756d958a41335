package column

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// bitReader reads a bit buffer: eight positions in each byte of its blocks, lowest bit first. A nil *bitReader is one
// whose bits are all set.
type bitReader struct {
	n *numbers[uint8]
	// prefix restores bits that a writer cleared, nil where nothing reports.
	prefix *clearedPrefix
}

// bitBuffer opens the bit buffer of a kind.
func (f *stored) bitBuffer(kind metapb.BufferKind) (*bitReader, error) {
	s, err := f.stream(kind, (f.count+7)/8)
	if err != nil {
		return nil, err
	}
	return &bitReader{n: openNumbers[uint8](s, f)}, nil
}

// presence opens the PRESENCE buffer; it is nil, everything present, if there is none, or if no position is null by the statistics.
func (f *stored) presence() (*bitReader, error) {
	if f.buffer(metapb.BufferKind_PRESENCE) == nil {
		return nil, nil
	}
	p := f.presencePrefix()
	if p != nil && p.want == p.count && !f.o.audit {
		return nil, nil
	}
	b, err := f.bitBuffer(metapb.BufferKind_PRESENCE)
	if err != nil {
		return nil, err
	}
	b.prefix = p
	return b, nil
}

// bytesOf gives the bytes of the block stream that hold the bits of r.
func bytesOf(r colstream.Range) colstream.Range {
	return colstream.Range{Start: r.Start / 8, End: (r.End + 7) / 8}
}

func (b *bitReader) Need(ranges []colstream.Range, whole bool) ([]colstream.Request, error) {
	if b == nil {
		return nil, nil
	}
	unsettled := b.prefix != nil && !b.prefix.settled && len(ranges) > 0
	in := make([]colstream.Range, 0, len(ranges)+1)
	if unsettled && ranges[0].Start >= 8 {
		in = append(in, colstream.Range{Start: 0, End: 1})
	}
	for _, r := range ranges {
		in = append(in, bytesOf(r))
	}
	out, err := b.n.Need(in, whole)
	if unsettled && err == nil && len(out) == 0 {
		return b.prefix.need(b, whole)
	}
	return out, err
}

// read gives the bits of r as a bitmap that starts at bit 0.
func (b *bitReader) read(r colstream.Range) ([]byte, error) {
	bits, err := b.stored(r)
	if err == nil {
		b.prefix.apply(bits, r)
	}
	return bits, err
}

// stored is read without what was restored.
func (b *bitReader) stored(r colstream.Range) ([]byte, error) {
	in := bytesOf(r)
	if err := b.n.mem.Take(2 * in.Len()); err != nil {
		return nil, err
	}
	raw := b.n.mem.Lend(in.Len())
	if err := b.n.read(raw, in.Start, nil, 0); err != nil {
		return nil, err
	}
	if r.Start%8 == 0 {
		return raw, nil
	}
	out := b.n.mem.Lend((r.Len() + 7) / 8)
	clear(out)
	bitutil.CopyBitmap(raw, int(r.Start%8), int(r.Len()), out, 0)
	return out, nil
}

// and makes null in v what has no bit set.
func (b *bitReader) and(v *validity, r colstream.Range) error {
	if b == nil || r.Len() == 0 {
		return nil
	}
	p, err := b.read(r)
	if err == nil {
		v.and(p)
	}
	return err
}

func (b *bitReader) Release(pos uint64) {
	if b != nil {
		b.n.Release(pos / 8)
	}
}

func (b *bitReader) Size() uint64 {
	if b == nil {
		return 0
	}
	return b.n.Size()
}

// boolColumn is a field of booleans.
type boolColumn struct {
	typ            arrow.DataType
	data, presence *bitReader
}

func (f *stored) boolColumn() (Column, error) {
	if meta.IsPackedMember(f.buffer(metapb.BufferKind_DATA)) {
		return f.packedBools()
	}
	d, err := f.bitBuffer(metapb.BufferKind_DATA)
	if err != nil {
		return nil, err
	}
	p, err := f.presence()
	d.prefix = f.truePrefix(p)
	return &boolColumn{f.typ, d, p}, err
}

func (c *boolColumn) Need(ranges []colstream.Range, whole bool) ([]colstream.Request, error) {
	return needAll(ranges, whole, c.presence, c.data)
}

func (c *boolColumn) Read(r colstream.Range) (arrow.ArrayData, error) {
	v := &validity{n: int(r.Len())}
	b, err := c.data.read(r)
	if err != nil {
		return nil, err
	}
	if err := c.presence.and(v, r); err != nil {
		return nil, err
	}
	return newData(c.typ, v, []*memory.Buffer{memory.NewBufferBytes(b)}), nil
}

func (c *boolColumn) Release(pos uint64) {
	c.data.Release(pos)
	c.presence.Release(pos)
}

func (c *boolColumn) Size() uint64 { return c.data.Size() + c.presence.Size() }
