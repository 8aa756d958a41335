package lance

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// maxLevels bounds the levels of a page that stores nothing else: runs of them take few bytes.
const maxLevels = 1 << 26

// constantPage is a page of one value, or of only nulls, with the levels of its rows if they are needed.
type constantPage struct {
	levelReader
	t        arrow.DataType
	layout   *pageLayout
	rows     uint64
	value    []byte // nil for nulls
	stored   buffer // of the value, if it is not in the description
	hasValue bool
	rep, def buffer
	levels   *entries // of the whole page
	rowAt    []int    // of every rowStep-th row, the entry it begins with
	scalar   arrow.Array
}

func newConstantPage(p *pageLayout, stored *page, t arrow.DataType, levels levelReader) (*constantPage, error) {
	d := &constantPage{levelReader: levels, t: t, layout: p, rows: stored.length, value: p.inline, hasValue: p.hasInline}
	buffers := stored.buffers
	if n := len(buffers); n == 1 || n == 3 {
		if p.hasInline {
			return nil, corrupt.At(-1, "constant page with a value in its description and %d buffers", n)
		}
		d.stored.extent, d.hasValue, buffers = buffers[0], true, buffers[1:]
		if d.stored.size > maxPlain {
			return nil, corrupt.Unsupported(-1, "constant page with a value of %d bytes", d.stored.size)
		}
	}
	if len(buffers) == 2 {
		d.rep.extent, d.def.extent = buffers[0], buffers[1]
	} else if len(buffers) != 0 {
		return nil, corrupt.At(-1, "constant page of %d buffers", len(stored.buffers))
	}
	if d.rep.size > maxPlain || d.def.size > maxPlain {
		return nil, corrupt.Unsupported(-1, "constant page with %d bytes of levels", max(d.rep.size, d.def.size))
	}
	if !d.hasValue && nullWidth(t) > maxNullWidth {
		return nil, corrupt.Unsupported(-1, "nulls of type %s, which take more than %d bytes each", t, maxNullWidth)
	}
	return d, nil
}

func (d *constantPage) weigh(low, end uint64) uint64 {
	width := max(nullWidth(d.t), uint64(d.stored.size))
	rows := end - low
	if d.levels != nil && d.levels.rep != nil {
		rows = max(rows, uint64(d.levels.n)/d.rows*rows)
	}
	return rows * (width + 4)
}

func (d *constantPage) request(_, _ uint64, r *requests) error {
	if d.levels == nil {
		d.rep.want(0, d.rep.size, r)
		d.def.want(0, d.def.size, r)
	}
	if d.scalar == nil {
		d.stored.want(0, d.stored.size, r)
	}
	return nil
}

// readLevels decodes the levels of the whole page.
func (d *constantPage) readLevels() error {
	e := &entries{}
	var err error
	if e.rep, err = readLevels(&d.rep, d.layout.rep, d.layout.repValues); err != nil {
		return err
	}
	if e.def, err = readLevels(&d.def, d.layout.def, d.layout.defValues); err != nil {
		return err
	}
	if e.def, err = d.definition(e.def); err != nil {
		return err
	}
	switch e.n = len(e.rep); {
	case e.rep == nil && d.path.lists(len(d.path)) > 0:
		return corrupt.At(-1, "constant page of lists without repetition levels")
	case e.rep == nil && e.def != nil:
		e.n = len(e.def)
	case e.def != nil && len(e.def) != e.n:
		return corrupt.At(-1, "constant page of %d repetition levels and %d definition levels", len(e.rep), len(e.def))
	}
	d.rep.data, d.def.data = nil, nil
	if d.levels = e; e.rep == nil {
		return nil
	}
	lists, row := d.path.lists(len(d.path)), 0
	for i, rep := range e.rep {
		if rep != lists {
			continue
		}
		if row%rowStep == 0 {
			d.rowAt = append(d.rowAt, i)
		}
		row++
	}
	if uint64(row) != d.rows {
		return corrupt.At(-1, "repetition levels of %d rows, expected %d", row, d.rows)
	}
	return nil
}

// rowStep is how many rows there are from one entry of the index of rows to the next.
const rowStep = 256

// readLevels decodes levels that are a buffer of their own.
func readLevels(b *buffer, c *codec, n uint64) ([]uint16, error) {
	if b.size == 0 {
		return nil, nil
	}
	content, err := b.bytes(0, b.size)
	if err != nil {
		return nil, err
	}
	if c == nil {
		if len(content)%2 != 0 {
			return nil, corrupt.At(b.at, "levels of %d bytes", len(content))
		}
		return levelsOf(&values{n: len(content) / 2, bits: 16, data: content})
	}
	if n > maxLevels {
		return nil, corrupt.Unsupported(b.at, "constant page of %d levels, more than the limit of %d", n, maxLevels)
	}
	v, err := c.block(content, int(n))
	if err != nil {
		return nil, corrupt.Locate(err, "", b.at)
	}
	return levelsOf(v)
}

func (d *constantPage) decode(low, end uint64) (entries, error) {
	if d.levels == nil {
		if err := d.readLevels(); err != nil {
			return entries{}, err
		}
	}
	e := entries{n: int(end - low)}
	switch all := d.levels; {
	case all.rep != nil:
		from, to := d.entry(low), d.entry(end)
		e.n, e.rep = to-from, all.rep[from:to]
		if all.def != nil {
			e.def = all.def[from:to]
		}
	case all.def != nil:
		if uint64(all.n) != d.rows {
			return e, corrupt.At(-1, "constant page of %d definition levels for %d rows", all.n, d.rows)
		}
		e.def = all.def[low:end]
	}
	var err error
	e.values, err = d.repeat(e.visible(d.path, 0, e.n))
	if err != nil || d.hasValue {
		return e, err
	}
	// The values are null whatever the levels say.
	if len(d.layout.layers) > 0 && d.layout.layers[0] == validItem && e.values.Len() > 0 && d.t.ID() != arrow.NULL {
		return e, corrupt.At(-1, "page of nulls whose values are not null")
	}
	return e, nil
}

// entry is where a row begins.
func (d *constantPage) entry(row uint64) int {
	if row >= d.rows {
		return d.levels.n
	}
	lists, at := d.path.lists(len(d.path)), d.rowAt[row/rowStep]
	for left := row % rowStep; left > 0; {
		if at++; d.levels.rep[at] == lists {
			left--
		}
	}
	return at
}

// repeat makes data of n times the value.
func (d *constantPage) repeat(n int) (arrow.ArrayData, error) {
	width := nullWidth(d.t)
	if err := checkUnstored(uint64(n), width); err != nil {
		return nil, err
	}
	if !d.hasValue || n == 0 {
		return array.MakeArrayOfNull(memory.DefaultAllocator, d.t, n).Data(), nil
	}
	if d.scalar == nil {
		if err := d.readValue(); err != nil {
			return nil, err
		}
	}
	if err := checkUnstored(uint64(n), uint64(d.stored.size)); err != nil {
		return nil, err
	}
	data := d.scalar.Data()
	if data.DataType().ID() == arrow.BOOL {
		out := make([]byte, (n+7)/8)
		if data.Buffers()[1].Bytes()[0]&1 != 0 {
			out = allValid(n)
		}
		return array.NewData(d.t, n, []*memory.Buffer{nil, memory.NewBufferBytes(out)}, nil, 0, 0), nil
	}
	out, err := gather(data, make([]uint64, n))
	if err == nil && data.DataType() != d.t {
		out = rebuild(out, d.t, out.Buffers(), 0)
	}
	return out, err
}

// readValue decodes the value: the bytes of it, or in a buffer of its own the buffers that Arrow has for one value, behind
// their number and sizes.
func (d *constantPage) readValue() error {
	t := d.t
	if ext, ok := t.(arrow.ExtensionType); ok {
		t = ext.StorageType()
	}
	parts := [][]byte{d.value}
	if d.value == nil && !d.layout.hasInline {
		b, err := d.stored.bytes(0, d.stored.size)
		if err != nil {
			return err
		}
		if parts, err = scalarBuffers(b); err != nil {
			return corrupt.Locate(err, "", d.stored.at)
		}
	}
	var v *values
	var err error
	switch fixed, ok := t.(arrow.FixedWidthDataType); {
	case arrow.IsBaseBinary(t.ID()) && len(parts) == 2:
		width := 4
		if isLarge(t) {
			width = 8
		}
		v, err = texted(parts[0], parts[1], width, 1)
	case ok && len(parts) == 1 && t.ID() != arrow.DICTIONARY && t.ID() != arrow.FIXED_SIZE_LIST:
		v, err = sized(parts[0], uint64(fixed.BitWidth()), 1)
	default:
		return corrupt.Unsupported(-1, "constant page of type %s with a value of %d buffers", t, len(parts))
	}
	if err != nil {
		return err
	}
	data, err := v.arrow(t)
	if err == nil {
		d.scalar = array.MakeFromData(data)
	}
	return err
}

// scalarBuffers splits the buffers of a value.
func scalarBuffers(b []byte) ([][]byte, error) {
	if len(b) < 4 {
		return nil, corrupt.At(-1, "value of a constant page: %d bytes", len(b))
	}
	n := uint64(binary.LittleEndian.Uint32(b))
	sizes := b[4:]
	if n > 4 || n*4 > uint64(len(sizes)) {
		return nil, corrupt.At(-1, "value of a constant page: %d buffers in %d bytes", n, len(b))
	}
	content := sizes[4*n:]
	out := make([][]byte, n)
	for i := range out {
		size := uint64(binary.LittleEndian.Uint32(sizes[4*i:]))
		if size > uint64(len(content)) {
			return nil, corrupt.At(-1, "value of a constant page: buffer %d of %d bytes, but %d remain", i, size, len(content))
		}
		out[i], content = content[:size], content[size:]
	}
	return out, nil
}
