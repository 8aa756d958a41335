package column

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// byteStrings decodes a block stream of byte strings, each of fixed bytes or, with 0, of any length. It keeps
// the last block that was needed in part only.
type byteStrings struct {
	*colstream.Stream
	scratch *block.Scratch
	mem     *budget.Account
	fixed   int
	average uint64 // bytes of a value, by the descriptor

	cached        int
	sparse        int // block of which a value was read alone, -1 if none
	vals          block.Bytes
	held          uint64 // bytes of vals that were charged
	present, bits []byte
}

// read appends the n values from start on to dst, and their nulls to v.
func (c *byteStrings) read(dst *block.Bytes, start uint64, v *validity) error {
	end := start + uint64(v.n)
	if err := within(c.Stream, start, end); err != nil {
		return err
	}
	at := 0
	for i := c.findFirst(start); start < end; i++ {
		first, last := c.Map().Span(i)
		stop := min(last, end)
		n := int(stop - start)
		if err := c.part(dst, i, int(start-first), n, int(last-first)); err != nil {
			return err
		}
		if c.present != nil {
			v.put(at, c.present, int(start-first), n)
		}
		start, at = stop, at+n
	}
	return nil
}

func (c *byteStrings) findFirst(start uint64) int {
	if c.Map().Values() == 0 {
		return 0
	}
	return c.Map().Find(start)
}

// part appends n values of block i, which has size, from value from on.
func (c *byteStrings) part(dst *block.Bytes, i, from, n, size int) error {
	if n == size {
		c.cached = -1
		return c.decode(dst, i, size)
	}
	if c.cached != i {
		c.cached = -1
		if n == 1 && c.sparse != i {
			c.sparse = i
			if done, err := c.alone(dst, i, from, size); done || err != nil {
				return err
			}
		}
		if err := c.keep(i, size); err != nil {
			return err
		}
	}
	return c.copy(dst, from, n)
}

// alone appends a value of block i without the others, where its encoding allows that and nothing is null.
func (c *byteStrings) alone(dst *block.Bytes, i, from, size int) (done bool, err error) {
	f, err := c.open(i, size)
	if err != nil || c.present != nil {
		return false, err
	}
	before := len(dst.Data)
	out, null, done, err := block.BytesAt(dst.Data, f.Values, size, c.fixed, from, c.scratch)
	if !done || null || err != nil { // a null where none may be: decoding the block reports where
		return false, c.Locate(err, i, f.ValuesOffset())
	}
	if err := c.mem.Take(uint64(len(out) - before)); err != nil {
		return false, err
	}
	dst.Data = out
	if c.fixed == 0 {
		dst.Offsets = append(dst.Offsets, int64(len(out)))
	}
	return true, nil
}

// hold charges what the kept block needs beyond the largest one before.
func (c *byteStrings) hold(n uint64) error {
	if err := c.mem.Work(n); err != nil {
		return err
	}
	if n <= c.held {
		return nil
	}
	if err := c.mem.Hold(n - c.held); err != nil {
		return err
	}
	c.held = n
	return nil
}

// sizeOf is the number of bytes of n of the kept values.
func (c *byteStrings) sizeOf(from, n int) uint64 {
	if c.fixed > 0 {
		return uint64(n) * uint64(c.fixed)
	}
	return uint64(c.vals.Offsets[from+n] - c.vals.Offsets[from])
}

// copy appends n of the kept values.
func (c *byteStrings) copy(dst *block.Bytes, from, n int) error {
	if err := c.mem.Take(c.sizeOf(from, n)); err != nil {
		return err
	}
	if c.fixed > 0 {
		dst.Data = append(dst.Data, c.vals.Data[from*c.fixed:(from+n)*c.fixed]...)
		return nil
	}
	base := int64(len(dst.Data)) - c.vals.Offsets[from]
	dst.Data = append(dst.Data, c.vals.Data[c.vals.Offsets[from]:c.vals.Offsets[from+n]]...)
	dst.Offsets = append(dst.Offsets, c.vals.Offsets[from+1:from+n+1]...)
	simd.MoveEnds(dst.Offsets[len(dst.Offsets)-n:], base)
	return nil
}

// open takes block i of size values apart and decodes which of them are present.
func (c *byteStrings) open(i, size int) (f block.Frame, err error) {
	if f, err = c.Block(i); err != nil {
		return f, err
	}
	c.present = nil
	if len(f.Presence) == 0 {
		return f, nil
	}
	if err := c.mem.Work(uint64(size) / 8); err != nil {
		return f, c.Locate(outOfProportion(err), i, 0)
	}
	if cap(c.bits) < (size+7)/8 {
		c.bits = make([]byte, (size+7)/8)
	}
	c.present = c.bits[:(size+7)/8]
	_, err = block.DecodePresence(c.present, f.Presence, size)
	return f, c.Locate(err, i, 8)
}

// decode appends block i as a whole.
func (c *byteStrings) decode(dst *block.Bytes, i, size int) error {
	if err := c.mem.Work(8 * uint64(size)); err != nil {
		return c.Locate(outOfProportion(err), i, 0)
	}
	f, err := c.open(i, size)
	if err != nil {
		return err
	}
	return c.Locate(block.DecodeBytes(dst, f.Values, size, c.fixed, c.present, c.scratch), i, f.ValuesOffset())
}

// bytesColumn is a field of byte strings whose lengths are inside the blocks.
type bytesColumn struct {
	typ      arrow.DataType
	data     *byteStrings
	presence *bitReader
}

// fixedSize is the size of each value in bytes, 0 if they vary.
func (f *stored) fixedSize() (int, error) {
	switch f.node.Basic {
	case schema.FixedSizeBinary, schema.Guid:
		if f.node.FixedSize == 0 || f.node.FixedSize > math.MaxInt32 {
			return 0, f.corrupt("values of %d bytes", f.node.FixedSize)
		}
		return int(f.node.FixedSize), nil
	}
	return 0, nil
}

func (f *stored) bytesColumn() (Column, error) {
	if f.buffer(metapb.BufferKind_OFFSETS) != nil {
		return f.splitBytesColumn()
	}
	fixed, err := f.fixedSize()
	if err != nil {
		return nil, err
	}
	if data := f.buffer(metapb.BufferKind_DATA); fixed == 0 && data != nil && !data.EmbeddedOffsets {
		return nil, f.unsupported("delimited strings are not specified: their lengths are neither in OFFSETS nor in the blocks")
	}
	s, err := f.stream(metapb.BufferKind_DATA, f.count)
	if err != nil {
		return nil, err
	}
	p, err := f.presence()
	average := uint64(fixed)
	if fixed == 0 && f.count > 0 {
		average = f.desc.GetRawDataSize()/f.count + 1
	}
	data := &byteStrings{Stream: s, scratch: f.scratch, mem: f.o.mem, fixed: fixed, average: average, cached: -1, sparse: -1}
	return &bytesColumn{f.typ, data, p}, err
}

func (c *bytesColumn) Need(ranges []colstream.Range, whole bool) ([]colstream.Request, error) {
	return needAll(ranges, whole, c.data, c.presence)
}

func (c *bytesColumn) Read(r colstream.Range) (arrow.ArrayData, error) {
	if err := c.data.mem.Take(8 * (r.Len() + 1)); err != nil {
		return nil, err
	}
	v := &validity{n: int(r.Len())}
	out := block.Bytes{Data: c.room(r.Len()), Charge: c.data.mem.Take}
	if c.data.fixed == 0 {
		out.Offsets = budget.LendOf[int64](c.data.mem, r.Len()+1)[:1]
		out.Offsets[0] = 0
	}
	if err := c.data.read(&out, r.Start, v); err != nil {
		return nil, err
	}
	if err := c.presence.and(v, r); err != nil {
		return nil, err
	}
	return bytesData(c.typ, v, &out), nil
}

// room is memory for about n values.
func (c *bytesColumn) room(n uint64) []byte {
	return c.data.mem.Lend(c.data.about(n, c.data.Size()))[:0]
}

// about is how many bytes n values have: an eighth more than the average, and never much more than what is stored of them, which a
// descriptor can't fake.
func (c *byteStrings) about(n, stored uint64) uint64 {
	return min(c.average*n+c.average*n/8, 16*stored, maxRead)
}

func (c *bytesColumn) Release(pos uint64) {
	c.data.Release(pos)
	c.presence.Release(pos)
}

func (c *bytesColumn) Size() uint64 { return c.data.Size() + c.presence.Size() }

// bytesData makes an array of byte strings, with offsets if there are any.
func bytesData(typ arrow.DataType, v *validity, b *block.Bytes) arrow.ArrayData {
	data := memory.NewBufferBytes(b.Data)
	if b.Offsets == nil {
		return newData(typ, v, []*memory.Buffer{data})
	}
	return newData(typ, v, []*memory.Buffer{bufferOf(b.Offsets), data})
}

// splitBytesColumn is a field of byte strings whose DATA is all their bytes, as a stream of unsigned bytes,
// and whose N+1 ends are in OFFSETS.
type splitBytesColumn struct {
	typ      arrow.DataType
	offsets  *ends
	data     *numbers[uint8]
	presence *bitReader
}

func (f *stored) splitBytesColumn() (Column, error) {
	if f.node.Basic != schema.String && f.node.Basic != schema.Binary {
		return nil, f.corrupt("OFFSETS for values of one size")
	}
	o, err := f.ends()
	if err != nil {
		return nil, err
	}
	s, err := f.stream(metapb.BufferKind_DATA, unknown)
	if err != nil {
		return nil, err
	}
	p, err := f.presence()
	return &splitBytesColumn{f.typ, o, openNumbers[uint8](s, f), p}, err
}

func (c *splitBytesColumn) Need(ranges []colstream.Range, whole bool) ([]colstream.Request, error) {
	out, err := needAll(ranges, whole, c.offsets, c.presence)
	if err != nil {
		return nil, err
	}
	if len(out) > 0 && !whole {
		return out, nil
	}
	var in []colstream.Range
	if len(out) == 0 {
		if in, err = c.offsets.spans(ranges); err != nil {
			return nil, err
		}
	}
	more, err := c.data.Need(in, whole)
	return append(out, more...), err
}

func (c *splitBytesColumn) Read(r colstream.Range) (arrow.ArrayData, error) {
	offsets, in, err := c.offsets.read(r)
	if err != nil {
		return nil, err
	}
	if in.End > c.data.Map().Values() {
		return nil, corrupt.Locate(corrupt.At(-1, "offset %d in %d bytes", in.End, c.data.Map().Values()), c.data.URL, 0)
	}
	if err := c.data.mem.Take(in.Len()); err != nil {
		return nil, err
	}
	out := block.Bytes{Data: c.data.mem.Lend(in.Len()), Offsets: offsets}
	if err := c.data.read(out.Data, in.Start, nil, 0); err != nil {
		return nil, err
	}
	v := &validity{n: int(r.Len())}
	if err := c.presence.and(v, r); err != nil {
		return nil, err
	}
	return bytesData(c.typ, v, &out), nil
}

func (c *splitBytesColumn) Release(pos uint64) {
	c.offsets.Release(pos)
	c.presence.Release(pos)
}

func (c *splitBytesColumn) Size() uint64 { return c.offsets.Size() + c.data.Size() + c.presence.Size() }
