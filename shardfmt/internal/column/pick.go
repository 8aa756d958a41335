package column

import (
	"math/bits"
	"slices"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// picking is a column of which some positions can be read without those between them: no block is decoded that has none of
// them, and where a block has few they are read one by one if its encoding allows that.
type picking interface {
	// pick reads the positions of a selection. done is false if the column can't: they are to be read together with those
	// between them.
	pick(s selection) (d arrow.ArrayData, done bool, err error)
}

// selection is some positions: those of a range that are set in a bitmap, which starts at the first one's.
type selection struct {
	of     colstream.Range
	bitmap []byte
	n      int // how many they are, at least one
}

// piece is what a selection has of a block: n of the count values from value from on, those that are set in the selection's
// bitmap from bit at on.
type piece struct {
	block, size int
	from, count int
	at, n       int
	bitmap      []byte
}

// eachBlock calls do for every block that has positions of the selection.
func (s selection) eachBlock(m *colstream.Map, do func(p piece) error) error {
	at := s.of.Start
	for i := m.Find(at); at < s.of.End; i++ {
		first, last := m.Span(i)
		end := min(last, s.of.End)
		p := piece{block: i, size: int(last - first), from: int(at - first), count: int(end - at), at: int(at - s.of.Start), bitmap: s.bitmap}
		p.n = simd.OnesBetween(p.bitmap, p.at, p.count)
		at = end
		if p.n == 0 {
			continue
		}
		if err := do(p); err != nil {
			return err
		}
	}
	return nil
}

// next gives the next selected value of the block, counted from its first, from one on; there must be one.
func (p *piece) next(from int) int {
	for i := from - p.from; ; i += 64 {
		if m := simd.BitsAt(p.bitmap, p.at+i, min(64, p.count-i)); m != 0 {
			return p.from + i + bits.TrailingZeros64(m)
		}
	}
}

// nulls puts which of the selected values are present into v, from slot at on.
func (p *piece) nulls(v *validity, at int, present []byte) {
	if present != nil {
		v.pick(at, present, p)
	}
}

// Pick reads those positions of r that are set in a bitmap, which starts at r.Start: n of them, at least one. Memory of what it
// makes is charged to mem, which is the column's.
func Pick(c Column, r colstream.Range, bitmap []byte, n int, mem *budget.Account) (arrow.ArrayData, error) {
	if p, ok := c.(picking); ok {
		if d, done, err := p.pick(selection{r, bitmap, n}); done || err != nil {
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
func PickCoded(c Column, r colstream.Range, bitmap []byte, n int, mem *budget.Account) (arrow.ArrayData, error) {
	coded, ok := c.(Coded)
	if !ok {
		return Pick(c, r, bitmap, n, mem)
	}
	if c, ok := c.(*dictionaryColumn); ok && !c.codes.Named {
		return c.pickCoded(selection{r, bitmap, n})
	}
	d, err := coded.ReadCoded(r)
	if err != nil {
		return nil, err
	}
	return Select(d, bitmap), nil
}

// within refuses positions that end beyond the stream.
func within(s *colstream.Stream, start, end uint64) error {
	if end > s.Map().Values() {
		return corrupt.Locate(corrupt.At(-1, "positions [%d, %d) of %d", start, end, s.Map().Values()), s.URL, 0)
	}
	return nil
}

// pick decodes the positions of a selection into dst, and their nulls into v.
func (c *numbers[T]) pick(dst []T, s selection, v *validity) error {
	if err := within(c.Stream, s.of.Start, s.of.End); err != nil {
		return err
	}
	at := 0
	return s.eachBlock(c.Map(), func(p piece) error {
		if err := c.piece(dst[at:at+p.n], p); err != nil {
			return err
		}
		p.nulls(v, at, c.present)
		at += p.n
		return nil
	})
}

// piece gives the selected values of a block.
func (c *numbers[T]) piece(dst []T, p piece) error {
	if p.n == p.count {
		return c.part(dst, p.block, p.from, p.size)
	}
	if c.cached != p.block {
		c.cached = -1
		if done, err := c.few(dst, p); done || err != nil {
			return err
		}
		if err := c.keep(p.block, p.size); err != nil {
			return err
		}
	}
	compact(dst, c.vals[p.from:p.from+p.count], p)
	return nil
}

// compact gives the selected ones of the values of a piece.
func compact[T block.Number](dst, vals []T, p piece) {
	switch simd.SizeOf[T]() {
	case 1:
		simd.Compact(simd.Cast[uint8](dst), simd.Cast[uint8](vals), p.bitmap, p.at)
	case 2:
		simd.Compact(simd.Cast[uint16](dst), simd.Cast[uint16](vals), p.bitmap, p.at)
	case 4:
		simd.Compact(simd.Cast[uint32](dst), simd.Cast[uint32](vals), p.bitmap, p.at)
	default:
		simd.Compact(simd.Cast[uint64](dst), simd.Cast[uint64](vals), p.bitmap, p.at)
	}
}

// few reads a few values of a block without the others, where its encodings allow that. A block that is come back to is
// decoded as a whole.
func (c *numbers[T]) few(dst []T, p piece) (done bool, err error) {
	if c.sparse == p.block || len(dst) > fewValues && len(dst) > p.size/fewShare {
		return false, nil
	}
	c.sparse = p.block
	f, err := c.open(p.block, p.size)
	if err != nil {
		return false, err
	}
	if err := c.mem.Work(uint64(len(dst)) * uint64(unsafe.Sizeof(dst[0]))); err != nil {
		return false, c.Locate(outOfProportion(err), p.block, 0)
	}
	c.places = slices.Grow(c.places[:0], len(dst))[:len(dst)]
	if p.n == p.count {
		for k := range c.places {
			c.places[k] = uint32(p.from + k)
		}
	} else {
		simd.Places(c.places, p.bitmap, p.at, p.count, uint32(p.from))
	}
	done, walked, err := block.PickNumbers(dst, f.Values, p.size, c.places, c.scratch)
	if err != nil {
		return done, c.Locate(err, p.block, f.ValuesOffset())
	}
	if err := c.mem.Work(walked); err != nil {
		return false, c.Locate(outOfProportion(err), p.block, 0)
	}
	return done, nil
}

func (c *numberColumn[T]) pick(s selection) (arrow.ArrayData, bool, error) {
	var zero T
	if err := c.data.mem.Take(uint64(s.n) * uint64(unsafe.Sizeof(zero))); err != nil {
		return nil, false, err
	}
	vals, v := budget.LendOf[T](c.data.mem, uint64(s.n)), &validity{n: s.n}
	if err := c.data.pick(vals, s, v); err != nil {
		return nil, false, err
	}
	if err := c.presence.andPicked(v, s); err != nil {
		return nil, false, err
	}
	return newData(c.typ, v, []*memory.Buffer{bufferOf(vals)}), true, nil
}

// andPicked is and for the positions of a selection.
func (b *bitReader) andPicked(v *validity, s selection) error {
	if b == nil {
		return nil
	}
	bits, err := b.pick(s)
	if err == nil {
		v.and(bits)
	}
	return err
}

// pick gives the bits of a selection as a bitmap.
func (b *bitReader) pick(s selection) ([]byte, error) {
	from, err := b.read(s.of)
	if err != nil {
		return nil, err
	}
	bits := b.n.mem.Lend(uint64(s.n+7) / 8)
	clear(bits)
	simd.CompactBits(bits, 0, from, 0, s.bitmap, 0, int(s.of.Len()))
	return bits, nil
}

func (c *boolColumn) pick(s selection) (arrow.ArrayData, bool, error) {
	v := &validity{n: s.n}
	b, err := c.data.pick(s)
	if err != nil {
		return nil, false, err
	}
	if err := c.presence.andPicked(v, s); err != nil {
		return nil, false, err
	}
	return newData(c.typ, v, []*memory.Buffer{memory.NewBufferBytes(b)}), true, nil
}

// pick appends the values of a selection to dst, and their nulls to v.
func (c *byteStrings) pick(dst *block.Bytes, s selection, v *validity) error {
	if err := within(c.Stream, s.of.Start, s.of.End); err != nil {
		return err
	}
	at := 0
	return s.eachBlock(c.Map(), func(p piece) error {
		if err := c.piece(dst, p); err != nil {
			return err
		}
		p.nulls(v, at, c.present)
		at += p.n
		return nil
	})
}

// piece appends the selected values of a block.
func (c *byteStrings) piece(dst *block.Bytes, p piece) error {
	if p.n == p.count {
		return c.part(dst, p.block, p.from, p.count, p.size)
	}
	if p.n == 1 {
		return c.part(dst, p.block, p.next(p.from), 1, p.size)
	}
	if c.cached != p.block {
		if err := c.keep(p.block, p.size); err != nil {
			return err
		}
	}
	if c.fixed == 0 {
		return c.pickTexts(dst, p)
	}
	if err := c.mem.Take(uint64(p.n) * uint64(c.fixed)); err != nil {
		return err
	}
	end := len(dst.Data)
	dst.Data = slices.Grow(dst.Data, p.n*c.fixed)[:end+p.n*c.fixed]
	simd.CompactBytes(dst.Data[end:], c.vals.Data[p.from*c.fixed:(p.from+p.count)*c.fixed], c.fixed, p.bitmap, p.at)
	return nil
}

// pickTexts appends selected ones of the kept values, of any length: where they end first, which reports the space they need.
func (c *byteStrings) pickTexts(dst *block.Bytes, p piece) error {
	ends, from := c.vals.Offsets[p.from:], int64(len(dst.Data))
	end, before := from, len(dst.Offsets)
	for i := 0; i < p.count; i += 64 {
		for m := simd.BitsAt(p.bitmap, p.at+i, min(64, p.count-i)); m != 0; m &= m - 1 {
			k := i + bits.TrailingZeros64(m)
			end += ends[k+1] - ends[k]
			dst.Offsets = append(dst.Offsets, end)
		}
	}
	if err := c.mem.Take(uint64(end - from)); err != nil {
		dst.Offsets = dst.Offsets[:before]
		return err
	}
	dst.Data = slices.Grow(dst.Data, int(end-from))[:end]
	room, text := dst.Data[from:], c.vals.Data
	for i := 0; i < p.count; i += 64 {
		for m := simd.BitsAt(p.bitmap, p.at+i, min(64, p.count-i)); m != 0; m &= m - 1 {
			k := i + bits.TrailingZeros64(m)
			room = room[copyShort(room, text[ends[k]:ends[k+1]], text[ends[k]:]):]
		}
	}
	return nil
}

func (c *bytesColumn) pick(s selection) (arrow.ArrayData, bool, error) {
	out, v := block.Bytes{Data: c.room(uint64(s.n)), Charge: c.data.mem.Take}, &validity{n: s.n}
	if c.data.fixed == 0 {
		if err := c.data.mem.Take(8 * uint64(s.n+1)); err != nil {
			return nil, false, err
		}
		out.Offsets = budget.LendOf[int64](c.data.mem, uint64(s.n+1))[:1]
		out.Offsets[0] = 0
	}
	if err := c.data.pick(&out, s, v); err != nil {
		return nil, false, err
	}
	if err := c.presence.andPicked(v, s); err != nil {
		return nil, false, err
	}
	return bytesData(c.typ, v, &out), true, nil
}

func (c *dictionaryColumn) pick(s selection) (arrow.ArrayData, bool, error) {
	if c.codes.Named {
		return nil, false, nil // each block has to state about which dictionary its codes are
	}
	d, err := c.pickCoded(s)
	if err != nil {
		return nil, false, err
	}
	d, err = c.Expand(d)
	return d, err == nil, err
}

// pickCoded gives the codes of a selection, of the one dictionary.
func (c *dictionaryColumn) pickCoded(s selection) (arrow.ArrayData, error) {
	if err := c.codes.mem.Take(4 * uint64(s.n)); err != nil {
		return nil, err
	}
	codes, v := budget.LendOf[uint32](c.codes.mem, uint64(s.n)), &validity{n: s.n}
	if err := c.codes.pick(codes, s, v); err != nil {
		return nil, err
	}
	values, err := c.entries(codes, colstream.Range{Start: s.of.Start, End: s.of.Start + uint64(s.n)}, v)
	if err != nil {
		return nil, err
	}
	if err := c.presence.andPicked(v, s); err != nil {
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

func (c *structColumn) pick(s selection) (arrow.ArrayData, bool, error) {
	v, children := &validity{n: s.n}, make([]arrow.ArrayData, len(c.children))
	for i, child := range c.children {
		p, ok := child.(picking)
		if !ok {
			return nil, false, nil
		}
		d, done, err := p.pick(s)
		if !done || err != nil {
			return nil, false, err
		}
		children[i] = d
	}
	if err := c.presence.andPicked(v, s); err != nil {
		return nil, false, err
	}
	return newData(c.typ, v, nil, children...), true, nil
}

// pick of a column that stores nothing for each position.
func (c *nullColumn) pick(s selection) (arrow.ArrayData, bool, error) {
	d, err := c.Read(colstream.Range{Start: 0, End: uint64(s.n)})
	return d, err == nil, err
}

func (c *constantColumn) pick(s selection) (arrow.ArrayData, bool, error) {
	d, err := c.Read(colstream.Range{Start: 0, End: uint64(s.n)})
	return d, err == nil, err
}

// keep decodes block i of size values into the memory of the block that is kept.
func (c *byteStrings) keep(i, size int) error {
	c.cached = -1
	if c.vals.Data == nil {
		start, end := c.Map().Range(i)
		c.vals.Data = c.mem.LendToEnd(c.about(uint64(size), end-start))
		if c.fixed == 0 {
			c.vals.Offsets = budget.ToEndOf[int64](c.mem, uint64(size+1))
		}
	}
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

// room grows for a block of size values, which is no longer the one that was kept.
func (c *numbers[T]) room(size int) error {
	c.cached = -1
	if cap(c.vals) < size {
		if err := c.mem.Hold(uint64(size-cap(c.vals)) * uint64(unsafe.Sizeof(c.vals[0]))); err != nil {
			return err
		}
		c.vals = budget.ToEndOf[T](c.mem, uint64(size))
	}
	c.vals = c.vals[:size]
	return nil
}
