package field

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/block"
	"github.com/shardcat/shardcat/internal/budget"
	"github.com/shardcat/shardcat/internal/buffer"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// picking is a column of which some positions can be read without those between them: no block is decoded that has none of
// them, and where a block has few they are read one by one if its encoding allows that.
type picking interface {
	// pick reads the positions of runs, which are ascending, disjoint and not empty, n in all. done is false if the column
	// can't: they are to be read together with those between them.
	pick(runs []buffer.Range, n int) (d arrow.ArrayData, done bool, err error)
}

// Pick reads those positions of r that are set in a bitmap, which starts at r.Start: n of them, at least one. Memory of what it
// makes is charged to mem, which is the column's.
func Pick(c Column, r buffer.Range, bitmap []byte, n int, mem *budget.Account) (arrow.ArrayData, error) {
	if p, ok := c.(picking); ok {
		if d, done, err := p.pick(runsIn(r, bitmap), n); done || err != nil {
			return d, err
		}
	}
	if coded, ok := c.(Coded); ok {
		d, err := coded.ReadCoded(r)
		if err != nil {
			return nil, err
		}
		return coded.Expand(Select(d, bitmap))
	}
	d, err := c.Read(r)
	if err != nil {
		return nil, err
	}
	if err := mem.Take(SizeOf(d) / r.Len() * uint64(n)); err != nil {
		return nil, err
	}
	return Select(d, bitmap), nil
}

// PickCoded is Pick into an array of dictionary codes where the column has them; see Coded.
func PickCoded(c Column, r buffer.Range, bitmap []byte, n int, mem *budget.Account) (arrow.ArrayData, error) {
	coded, ok := c.(Coded)
	if !ok {
		return Pick(c, r, bitmap, n, mem)
	}
	if c, ok := c.(*dictionaryColumn); ok && !c.codes.Named {
		return c.pickCoded(runsIn(r, bitmap), n)
	}
	d, err := coded.ReadCoded(r)
	if err != nil {
		return nil, err
	}
	return Select(d, bitmap), nil
}

// runsIn gives the runs of bits that are set in a bitmap, which starts at r.Start.
func runsIn(r buffer.Range, bitmap []byte) []buffer.Range {
	runs := runsOf(bitmap, int(r.Len()))
	for i := range runs {
		runs[i].Start += r.Start
		runs[i].End += r.Start
	}
	return runs
}

// eachPiece calls do for every block that has positions of runs, with those of them that lie in it, counted from its first.
func eachPiece(m *buffer.Map, runs []buffer.Range, do func(i, size int, pieces []buffer.Range) error) error {
	var pieces []buffer.Range
	for k := 0; k < len(runs); {
		start := runs[k].Start
		i := m.Find(start)
		first, end := m.Span(i)
		for ; ; i++ { // a run may span several blocks
			pieces = pieces[:0]
			for ; k < len(runs) && runs[k].Start < end; k++ {
				pieces = append(pieces, buffer.Range{Start: max(runs[k].Start, first) - first, End: min(runs[k].End, end) - first})
				if runs[k].End > end {
					break
				}
			}
			if err := do(i, int(end-first), pieces); err != nil {
				return err
			}
			if k == len(runs) || runs[k].Start >= end {
				break
			}
			first, end = m.Span(i + 1)
		}
	}
	return nil
}

// within refuses positions that end beyond the stream.
func within(s *buffer.Stream, start, end uint64) error {
	if end > s.Map().Values() {
		return corrupt.Locate(corrupt.At(-1, "positions [%d, %d) of %d", start, end, s.Map().Values()), s.URL, 0)
	}
	return nil
}

// pick decodes the positions of runs into dst, and their nulls into v.
func (c *numbers[T]) pick(dst []T, runs []buffer.Range, v *validity) error {
	if err := within(c.Stream, runs[0].Start, runs[len(runs)-1].End); err != nil {
		return err
	}
	at := 0
	return eachPiece(c.Map(), runs, func(i, size int, pieces []buffer.Range) error {
		n := lengthOf(pieces)
		if err := c.pieces(dst[at:at+n], i, size, pieces); err != nil {
			return err
		}
		for _, p := range pieces {
			if err := c.nulls(v, at, i, int(p.Start), int(p.Len())); err != nil {
				return err
			}
			at += int(p.Len())
		}
		return nil
	})
}

// pieces gives some of the values of block i, which has size.
func (c *numbers[T]) pieces(dst []T, i, size int, pieces []buffer.Range) error {
	if len(pieces) == 1 || len(dst) == size {
		return c.part(dst, i, int(pieces[0].Start), size)
	}
	if c.cached != i {
		c.cached = -1
		if done, err := c.few(dst, i, size, pieces); done || err != nil {
			return err
		}
		if err := c.keep(i, size); err != nil {
			return err
		}
	}
	for _, p := range pieces {
		dst = dst[copy(dst, c.vals[p.Start:p.End]):]
	}
	return nil
}

// few reads a few values of block i, those of pieces, without the others, where its encodings allow that. A block that is come back to is
// decoded as a whole.
func (c *numbers[T]) few(dst []T, i, size int, pieces []buffer.Range) (done bool, err error) {
	if len(dst) > fewValues || c.sparse == i {
		return false, nil
	}
	c.sparse = i
	f, err := c.open(i, size)
	if err != nil {
		return false, err
	}
	for _, p := range pieces {
		n := int(p.Len())
		done, err := block.NumbersAt(dst[:n], f.Values, size, int(p.Start), c.scratch)
		if !done || err != nil {
			return false, c.Locate(err, i, f.ValuesOffset())
		}
		dst = dst[n:]
	}
	return true, nil
}

func (c *numberColumn[T]) pick(runs []buffer.Range, n int) (arrow.ArrayData, bool, error) {
	var zero T
	if err := c.data.mem.Take(uint64(n) * uint64(unsafe.Sizeof(zero))); err != nil {
		return nil, false, err
	}
	vals, v := budget.LendOf[T](c.data.mem, uint64(n)), &validity{n: n}
	if err := c.data.pick(vals, runs, v); err != nil {
		return nil, false, err
	}
	if err := c.presence.andRuns(v, runs); err != nil {
		return nil, false, err
	}
	return newData(c.typ, v, []*memory.Buffer{bufferOf(vals)}), true, nil
}

// andRuns is and for the positions of runs.
func (b *bitReader) andRuns(v *validity, runs []buffer.Range) error {
	if b == nil {
		return nil
	}
	bits, err := b.pick(runs, v.n)
	if err == nil {
		v.and(bits)
	}
	return err
}

// pick gives the bits of runs as a bitmap.
func (b *bitReader) pick(runs []buffer.Range, n int) ([]byte, error) {
	all := buffer.Range{Start: runs[0].Start, End: runs[len(runs)-1].End}
	from, err := b.read(all)
	if err != nil {
		return nil, err
	}
	bits := b.n.mem.Lend(uint64(n+7) / 8)
	clear(bits)
	at := 0
	for _, r := range runs {
		bitutil.CopyBitmap(from, int(r.Start-all.Start), int(r.Len()), bits, at)
		at += int(r.Len())
	}
	return bits, nil
}

func (c *boolColumn) pick(runs []buffer.Range, n int) (arrow.ArrayData, bool, error) {
	v := &validity{n: n}
	b, err := c.data.pick(runs, n)
	if err != nil {
		return nil, false, err
	}
	if err := c.presence.andRuns(v, runs); err != nil {
		return nil, false, err
	}
	return newData(c.typ, v, []*memory.Buffer{memory.NewBufferBytes(b)}), true, nil
}

// pick appends the values of runs to dst, and their nulls to v.
func (c *byteStrings) pick(dst *block.Bytes, runs []buffer.Range, v *validity) error {
	if err := within(c.Stream, runs[0].Start, runs[len(runs)-1].End); err != nil {
		return err
	}
	at := 0
	return eachPiece(c.Map(), runs, func(i, size int, pieces []buffer.Range) error {
		if err := c.pieces(dst, i, size, pieces); err != nil {
			return err
		}
		for _, p := range pieces {
			if c.present != nil {
				v.put(at, c.present, int(p.Start), int(p.Len()))
			}
			at += int(p.Len())
		}
		return nil
	})
}

// pieces appends some of the values of block i, which has size.
func (c *byteStrings) pieces(dst *block.Bytes, i, size int, pieces []buffer.Range) error {
	if len(pieces) == 1 {
		return c.part(dst, i, int(pieces[0].Start), int(pieces[0].Len()), size)
	}
	if c.cached != i {
		if err := c.keep(i, size); err != nil {
			return err
		}
	}
	for _, p := range pieces {
		if err := c.copy(dst, int(p.Start), int(p.Len())); err != nil {
			return err
		}
	}
	return nil
}

func (c *bytesColumn) pick(runs []buffer.Range, n int) (arrow.ArrayData, bool, error) {
	out, v := block.Bytes{Charge: c.data.mem.Take}, &validity{n: n}
	if c.data.fixed == 0 {
		if err := c.data.mem.Take(8 * uint64(n+1)); err != nil {
			return nil, false, err
		}
		out.Offsets = budget.LendOf[int64](c.data.mem, uint64(n+1))[:1]
		out.Offsets[0] = 0
	}
	if err := c.data.pick(&out, runs, v); err != nil {
		return nil, false, err
	}
	if err := c.presence.andRuns(v, runs); err != nil {
		return nil, false, err
	}
	return bytesData(c.typ, v, &out), true, nil
}

func (c *dictionaryColumn) pick(runs []buffer.Range, n int) (arrow.ArrayData, bool, error) {
	if c.codes.Named {
		return nil, false, nil // each block has to say of which dictionary its codes are
	}
	d, err := c.pickCoded(runs, n)
	if err != nil {
		return nil, false, err
	}
	d, err = c.Expand(d)
	return d, err == nil, err
}

// pickCoded gives the codes of runs, of the one dictionary.
func (c *dictionaryColumn) pickCoded(runs []buffer.Range, n int) (arrow.ArrayData, error) {
	if err := c.codes.mem.Take(4 * uint64(n)); err != nil {
		return nil, err
	}
	codes, v := budget.LendOf[uint32](c.codes.mem, uint64(n)), &validity{n: n}
	if err := c.codes.pick(codes, runs, v); err != nil {
		return nil, err
	}
	values, err := c.entries(codes, buffer.Range{Start: runs[0].Start, End: runs[0].Start + uint64(n)}, v)
	if err != nil {
		return nil, err
	}
	if err := c.presence.andRuns(v, runs); err != nil {
		return nil, err
	}
	return c.coded(codes, v, values), nil
}

// coded makes an array of codes of entries.
func (c *dictionaryColumn) coded(codes []uint32, v *validity, values *array.Data) arrow.ArrayData {
	bitmap, nulls := v.buffer()
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: c.typ}
	return array.NewDataWithDictionary(typ, len(codes), []*memory.Buffer{bitmap, bufferOf(codes)}, nulls, 0, values)
}

func (c *structColumn) pick(runs []buffer.Range, n int) (arrow.ArrayData, bool, error) {
	v, children := &validity{n: n}, make([]arrow.ArrayData, len(c.children))
	for i, child := range c.children {
		p, ok := child.(picking)
		if !ok {
			return nil, false, nil
		}
		d, done, err := p.pick(runs, n)
		if !done || err != nil {
			return nil, false, err
		}
		children[i] = d
	}
	if err := c.presence.andRuns(v, runs); err != nil {
		return nil, false, err
	}
	return newData(c.typ, v, nil, children...), true, nil
}

// pick of a column that stores nothing for each position.
func (c *nullColumn) pick(_ []buffer.Range, n int) (arrow.ArrayData, bool, error) {
	d, err := c.Read(buffer.Range{Start: 0, End: uint64(n)})
	return d, err == nil, err
}

func (c *constantColumn) pick(_ []buffer.Range, n int) (arrow.ArrayData, bool, error) {
	d, err := c.Read(buffer.Range{Start: 0, End: uint64(n)})
	return d, err == nil, err
}

// keep decodes block i of size values into the memory of the block that is kept.
func (c *byteStrings) keep(i, size int) error {
	c.cached = -1
	c.vals.Reset()
	c.vals.Charge = c.hold
	if err := c.decode(&c.vals, i, size); err != nil {
		return err
	}
	c.cached = i
	return nil
}

// keep decodes block i of size values into the memory of the block that is kept.
func (c *numbers[T]) keep(i, size int) error {
	if err := c.room(size); err != nil {
		return err
	}
	if err := c.decode(c.vals, i); err != nil {
		return err
	}
	c.cached = i
	return nil
}

// room makes room for a block of size values, which is no longer the one that was kept.
func (c *numbers[T]) room(size int) error {
	c.cached = -1
	if cap(c.vals) < size {
		if err := c.mem.Hold(uint64(size-cap(c.vals)) * uint64(unsafe.Sizeof(c.vals[0]))); err != nil {
			return err
		}
		c.vals = make([]T, size)
	}
	c.vals = c.vals[:size]
	return nil
}
