package lance

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// fullZip is a page of large values: each entry has its levels in front of it, and a value of no fixed width its length.
type fullZip struct {
	levelReader
	t              arrow.DataType
	layout         *pageLayout
	rows           uint64
	content, index buffer
	control        uint64 // bytes of the levels of an entry
	stride         uint64 // bytes of an entry with a value, if they are all the same
	width          uint64 // bytes of an offset in the index
}

func newFullZip(p *pageLayout, stored *page, t arrow.DataType, levels levelReader) (*fullZip, error) {
	d := &fullZip{levelReader: levels, t: t, layout: p, rows: stored.length}
	lists := levels.path.lists(len(levels.path))
	if n := len(stored.buffers); n != 1 && n != 2 {
		return nil, corrupt.At(-1, "full-zip page of %d buffers", n)
	}
	if p.repBits > 16 || p.defBits > 16 || (lists > 0) != (p.repBits > 0) {
		return nil, corrupt.At(-1, "full-zip page of %d layers of lists with levels of %d and %d bits", lists, p.repBits, p.defBits)
	}
	switch both := p.repBits + p.defBits; {
	case both > 16:
		d.control = 4
	case both > 8:
		d.control = 2
	case both > 0:
		d.control = 1
	}
	d.content.extent = stored.buffers[0]
	if p.lengthBits == 0 {
		width, err := p.values.valueBits(0)
		if err != nil {
			return nil, err
		}
		if width%8 != 0 || p.valueBits != 0 && p.valueBits != width {
			return nil, corrupt.Unsupported(-1, "full-zip page of values of %d bits as %v", p.valueBits, p.values)
		}
		d.stride = d.control + width/8
	} else if !isWordBits(p.lengthBits) {
		return nil, corrupt.At(-1, "full-zip page with lengths of %d bits", p.lengthBits)
	}
	if len(stored.buffers) == 1 {
		if p.lengthBits != 0 || lists > 0 {
			return nil, corrupt.At(-1, "full-zip page without repetition index")
		}
		if !checkWidth(d.rows, d.stride*8) || d.rows*d.stride != uint64(d.content.size) {
			return nil, corrupt.At(d.content.at, "%d rows of %d bytes in a buffer of %d bytes", d.rows, d.stride, d.content.size)
		}
		return d, nil
	}
	d.index.extent = stored.buffers[1]
	if d.rows+1 == 0 || uint64(d.index.size)%(d.rows+1) != 0 || !isWordBits(uint64(d.index.size)/(d.rows+1)*8) {
		return nil, corrupt.At(d.index.at, "repetition index of %d bytes for %d rows", d.index.size, d.rows)
	}
	d.width = uint64(d.index.size) / (d.rows + 1)
	return d, nil
}

// valueBits is the fixed width of values as they are stored.
func (c *codec) valueBits(depth int) (uint64, error) {
	switch {
	case c.kind == flatCodec:
		return c.bits, nil
	case c.kind == packedCodec && c.values.kind == flatCodec:
		return c.values.bits, nil
	case c.kind == fixedListCodec && depth < maxDepth:
		return c.listBits(1)
	}
	return 0, corrupt.Unsupported(-1, "full-zip values of fixed width as %v", c)
}

// listBits is the width of a list: a bitmap for each layer with a validity, rounded up to bytes, and the items.
func (c *codec) listBits(outside uint64) (uint64, error) {
	total := outside * c.dimension
	if c.dimension > maxValueBits || total > maxValueBits || outside > maxValueBits {
		return 0, corrupt.Unsupported(-1, "fixed-size lists of %d items", total)
	}
	bitmap := uint64(0)
	if c.hasValidity {
		bitmap = (total + 7) / 8 * 8
	}
	switch c.values.kind {
	case flatCodec:
		if !checkWidth(total, c.values.bits) || total*c.values.bits > maxValueBits {
			return 0, corrupt.Unsupported(-1, "fixed-size lists of %d items of %d bits", total, c.values.bits)
		}
		return bitmap + total*c.values.bits, nil
	case fixedListCodec:
		inner, err := c.values.listBits(total)
		return bitmap + inner, err
	}
	return 0, corrupt.Unsupported(-1, "full-zip values of fixed width as %v", c)
}

// extent is where rows [low, end) lie in the content; ok is false if the index is not loaded.
func (d *fullZip) span(low, end uint64) (from, to int64, ok bool, err error) {
	if d.width == 0 {
		return int64(low * d.stride), int64(end * d.stride), true, nil
	}
	a, b := int64(low*d.width), int64((end+1)*d.width)
	if !d.index.has(a, b) {
		return 0, 0, false, nil
	}
	content, err := d.index.bytes(a, b)
	if err != nil {
		return 0, 0, false, err
	}
	first, last := readWord(content, int(d.width)), readWord(content[uint64(len(content))-d.width:], int(d.width))
	if first > last || last > uint64(d.content.size) {
		return 0, 0, false, corrupt.At(d.index.at+a, "rows %d to %d lie at [%d, %d) of %d bytes", low, end, first, last, d.content.size)
	}
	return int64(first), int64(last), true, nil
}

func (d *fullZip) weigh(low, end uint64) uint64 {
	from, to, ok, err := d.span(low, end)
	if !ok || err != nil {
		return (end - low) * d.width
	}
	size := uint64(to - from)
	if d.layout.values.kind == fsstCodec || d.layout.values.kind == generalCodec {
		size *= 4
	}
	return size
}

func (d *fullZip) request(low, end uint64, r *requests) error {
	from, to, ok, err := d.span(low, end)
	if err != nil {
		return err
	}
	if !ok {
		d.index.want(int64(low*d.width), int64((end+1)*d.width), r)
		return nil
	}
	d.content.want(from, to, r)
	return nil
}

func (d *fullZip) decode(low, end uint64) (e entries, err error) {
	from, to, _, err := d.span(low, end)
	if err != nil {
		return e, err
	}
	b, err := d.content.bytes(from, to)
	if err != nil {
		return e, err
	}
	defer func() { err = corrupt.Locate(err, "", d.content.at+from) }()
	hidden := d.path.hidden(0)
	lengthSize, valueSize := int(d.layout.lengthBits/8), int(d.stride-min(d.control, d.stride))
	count := 0
	var content []byte
	offsets := []uint64{0}
	for at := 0; at < len(b) || d.control == 0 && d.stride == 0 && e.n < int(end-low); e.n++ {
		if len(b)-at < int(d.control) {
			return e, corrupt.At(int64(at), "entry ends in its levels")
		}
		var rep, def uint16
		if d.control > 0 {
			word := readWord(b[at:], int(d.control))
			at += int(d.control)
			def, rep = uint16(word&(1<<d.layout.defBits-1)), uint16(word>>d.layout.defBits&(1<<d.layout.repBits-1))
		}
		if int(def) >= len(d.codes) {
			return e, corrupt.At(int64(at), "definition level %d, the page has levels up to %d", def, len(d.codes)-1)
		}
		code := d.codes[def]
		if d.layout.repBits > 0 {
			e.rep = append(e.rep, rep)
		}
		if d.layout.defBits > 0 {
			e.def = append(e.def, code)
		}
		if hidden[code] {
			continue
		}
		count++
		size := valueSize
		if lengthSize > 0 {
			if size = 0; code == 0 {
				if len(b)-at < lengthSize {
					return e, corrupt.At(int64(at), "entry ends in its length")
				}
				length := readWord(b[at:], lengthSize)
				if at += lengthSize; length > uint64(len(b)-at) {
					return e, corrupt.At(int64(at), "value of %d bytes, but %d remain", length, len(b)-at)
				}
				size = int(length)
			}
		}
		if len(b)-at < size {
			return e, corrupt.At(int64(at), "value of %d bytes, but %d remain", size, len(b)-at)
		}
		content = append(content, b[at:at+size]...)
		if at += size; lengthSize > 0 {
			offsets = append(offsets, uint64(len(content)))
		}
	}
	var v *values
	if lengthSize > 0 {
		v, err = d.layout.values.eachTexts(&values{n: count, data: content, offsets: offsets}, 0)
	} else {
		v, err = d.layout.values.eachFixed(content, count)
	}
	if err != nil {
		return e, err
	}
	e.values, err = v.arrow(d.t)
	return e, err
}

// eachFixed decodes n values of a fixed width, each of which is encoded on its own.
func (c *codec) eachFixed(b []byte, n int) (*values, error) {
	switch c.kind {
	case flatCodec:
		return sized(b, c.bits, n)
	case packedCodec:
		rows, err := sized(b, c.values.bits, n)
		if err != nil {
			return nil, err
		}
		return c.unpackRows(rows)
	}
	// The bitmaps of a list stand in front of its items: sort them into buffers of their own.
	var buffers [][]byte
	var sizes []int // in bits, in a row
	total := uint64(1)
	inner := c
	for ; inner.kind == fixedListCodec; inner = inner.values {
		if total *= inner.dimension; inner.hasValidity {
			buffers, sizes = append(buffers, nil), append(sizes, int(total))
		}
	}
	if len(sizes) == 0 {
		return c.lists([][]byte{b}, n)
	}
	width, err := c.valueBits(0)
	if err != nil {
		return nil, err
	}
	rows, err := sized(b, width, n)
	if err != nil {
		return nil, err
	}
	size, items := int(width/8), int(total*inner.bits/8)
	if total*inner.bits%8 != 0 {
		return nil, corrupt.Unsupported(-1, "full-zip lists of %d items of %d bits", total, inner.bits)
	}
	content := make([]byte, 0, n*items)
	for i := range n {
		row := rows.data[i*size:][:size]
		for k, count := range sizes {
			for bit := range count {
				if at := i*count + bit; row[bit/8]>>(bit%8)&1 != 0 {
					buffers[k] = setBit(buffers[k], at)
				}
			}
			row = row[(count+7)/8:]
		}
		content = append(content, row...)
	}
	for k, count := range sizes {
		for len(buffers[k]) < (n*count+7)/8 {
			buffers[k] = append(buffers[k], 0)
		}
	}
	return c.lists(append(buffers, content), n)
}

// eachTexts decodes values of no fixed width, each of which is encoded on its own.
func (c *codec) eachTexts(v *values, depth int) (*values, error) {
	switch {
	case c.kind == variableCodec:
		return v, nil
	case c.kind == fsstCodec:
		v, err := c.values.eachTexts(v, depth+1)
		if err != nil {
			return nil, err
		}
		return v, c.expand(v)
	case c.kind == generalCodec:
		out := &values{n: v.n, offsets: make([]uint64, 1, v.n+1)}
		for i := range v.n {
			plain, err := decompressUpTo(c.scheme, v.data[v.offsets[i]:v.offsets[i+1]], maxPlain-int64(len(out.data)))
			if err != nil {
				return nil, err
			}
			out.data = append(out.data, plain...)
			out.offsets = append(out.offsets, uint64(len(out.data)))
		}
		return out, nil
	case c.kind == variablePackedCodec && depth == 0:
		return c.eachRow(v)
	}
	return nil, corrupt.Unsupported(-1, "full-zip values as %v", c)
}

// eachRow splits rows of structs of no fixed width into their fields. A field without a fixed width has its length in front.
func (c *codec) eachRow(v *values) (*values, error) {
	out := &values{n: v.n}
	contents := make([][]byte, len(c.fields))
	offsets := make([][]uint64, len(c.fields))
	for k := range offsets {
		offsets[k] = append(make([]uint64, 0, v.n+1), 0)
	}
	for i := range v.n {
		row := v.data[v.offsets[i]:v.offsets[i+1]]
		for k, f := range c.fields {
			size := f.bits / 8
			if f.lengthBits > 0 {
				if width := f.lengthBits / 8; !isWordBits(f.lengthBits) || uint64(len(row)) < width {
					return nil, corrupt.At(-1, "VariablePackedStruct: row %d ends in field %d", i, k)
				}
				size = readWord(row, int(f.lengthBits/8))
				row = row[f.lengthBits/8:]
			} else if f.bits%8 != 0 {
				return nil, corrupt.Unsupported(-1, "VariablePackedStruct: field of %d bits", f.bits)
			}
			if len(row) == 0 && size > 0 && len(v.data[v.offsets[i]:v.offsets[i+1]]) == 0 {
				size = 0 // a null row stores nothing
				if f.lengthBits == 0 {
					contents[k] = append(contents[k], make([]byte, f.bits/8)...)
				}
			}
			if size > uint64(len(row)) {
				return nil, corrupt.At(-1, "VariablePackedStruct: row %d ends in field %d", i, k)
			}
			contents[k] = append(contents[k], row[:size]...)
			offsets[k] = append(offsets[k], uint64(len(contents[k])))
			row = row[size:]
		}
		if len(row) > 0 {
			return nil, corrupt.At(-1, "VariablePackedStruct: row %d has %d bytes after its fields", i, len(row))
		}
	}
	for k, f := range c.fields {
		var field *values
		var err error
		if f.lengthBits > 0 {
			field, err = f.values.eachTexts(&values{n: v.n, data: contents[k], offsets: offsets[k]}, 1)
		} else {
			field, err = f.values.eachFixed(contents[k], v.n)
		}
		if err != nil {
			return nil, err
		}
		out.fields = append(out.fields, field)
	}
	return out, nil
}
