package lance

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// lists decodes a page of offsets, and the items that they point to.
type lists struct {
	t     arrow.DataType
	ends  ends
	items decoder
	base  uint64 // the first item of the page in their column
	// asText makes strings of lists of bytes, as writers before v0.14 stored them.
	asText bool
}

// of is where the items of lists [low, end) lie in their column.
func (d *lists) of(low, end uint64) (from, to uint64, err error) {
	from, to, err = d.ends.target(low, end)
	return d.base + from, d.base + to, err
}

func (d *lists) weigh(low, end uint64) uint64 {
	size := d.ends.weigh(low, end)
	if !d.ends.ready(low, end) {
		return size
	}
	from, to, err := d.of(low, end)
	if err != nil || from == to {
		return size
	}
	return size + d.items.weigh(from, to)
}

func (d *lists) request(low, end uint64, r *requests) error {
	if !d.ends.ready(low, end) {
		return d.ends.around(low, end, r)
	}
	from, to, err := d.of(low, end)
	if err != nil || from == to {
		return err
	}
	return d.items.request(from, to, r)
}

func (d *lists) decode(low, end uint64) (arrow.ArrayData, error) {
	from, offsets, valid, missing, err := d.ends.offsets(low, end)
	if err != nil {
		return nil, err
	}
	items, err := d.items.decode(d.base+from, d.base+from+offsets[len(offsets)-1])
	if err != nil {
		return nil, err
	}
	if d.asText {
		var b []byte
		if buffer := items.Buffers()[1]; buffer != nil {
			b = buffer.Bytes()[:items.Len()]
		}
		if i, ok := firstInvalid(b, offsets, valid); isString(d.t) && !ok {
			return nil, corrupt.At(-1, "value %d is not UTF-8", low+uint64(i))
		}
		return textData(d.t, b, offsets, valid, missing)
	}
	narrowed, err := narrow(offsets, isLarge(d.t))
	if err != nil {
		return nil, err
	}
	return array.NewData(d.t, len(offsets)-1, []*memory.Buffer{bitmapBuffer(valid), memory.NewBufferBytes(narrowed)}, []arrow.ArrayData{items}, missing, 0), nil
}

// structs decodes the fields of a struct, which is never null itself.
type structs struct {
	t      arrow.DataType
	fields []decoder
}

func (d *structs) weigh(low, end uint64) (total uint64) {
	for _, f := range d.fields {
		total += f.weigh(low, end)
	}
	return total + (end-low)/8
}

func (d *structs) request(low, end uint64, r *requests) error {
	for _, f := range d.fields {
		if err := f.request(low, end, r); err != nil {
			return err
		}
	}
	return nil
}

func (d *structs) decode(low, end uint64) (arrow.ArrayData, error) {
	if len(d.fields) == 0 {
		if err := checkUnstored(end-low, 1); err != nil {
			return nil, err
		}
	}
	children := make([]arrow.ArrayData, len(d.fields))
	for i, f := range d.fields {
		var err error
		if children[i], err = f.decode(low, end); err != nil {
			return nil, err
		}
	}
	return array.NewData(d.t, int(end-low), []*memory.Buffer{nil}, children, 0, 0), nil
}

// packed decodes structs whose fields, all of fixed width and never null, lie row by row.
type packed struct {
	flat
	of     *arrow.StructType
	widths []int // in bytes
}

func (d *packed) decode(low, end uint64) (arrow.ArrayData, error) {
	b, err := d.bytes(d.span(low, end))
	if err != nil {
		return nil, err
	}
	n, row := int(end-low), int(d.bits/8)
	children := make([]arrow.ArrayData, len(d.widths))
	at := 0
	for i, width := range d.widths {
		out := make([]byte, 0, n*width)
		for k := range n {
			out = append(out, b[k*row+at:][:width]...)
		}
		at += width
		children[i] = fixedData(d.of.Field(i).Type, n, out)
	}
	return array.NewData(d.of, n, []*memory.Buffer{nil}, children, 0, 0), nil
}

// fixedData makes data of values of fixed width, which may be lists of one length.
func fixedData(t arrow.DataType, n int, b []byte) arrow.ArrayData {
	if list, ok := t.(*arrow.FixedSizeListType); ok {
		items := fixedData(list.Elem(), n*int(list.Len()), b)
		return array.NewData(t, n, []*memory.Buffer{nil}, []arrow.ArrayData{items}, 0, 0)
	}
	return array.NewData(t, n, []*memory.Buffer{nil, memory.NewBufferBytes(b)}, nil, 0, 0)
}

// blobs decodes large values that lie anywhere in the file: the page reports where.
type blobs struct {
	numbers // position and size of each, in turns
	t       arrow.DataType
	file    int64 // where blobs end
	first   uint64
	content []buffer // of values from first on
}

func (d *blobs) weigh(low, end uint64) uint64 {
	size := d.numbers.weigh(2*low, 2*end)
	where, err := d.where(low, end)
	for _, x := range where {
		size += uint64(x.size)
	}
	if err != nil {
		return d.numbers.weigh(2*low, 2*end)
	}
	return size
}

// where reads the places of values; it is nil if they are not available yet. A null has the size -1.
func (d *blobs) where(low, end uint64) ([]extent, error) {
	var r requests
	if d.numbers.want(d.offset(low), d.offset(end), &r); len(r.missing) > 0 {
		return nil, nil
	}
	pairs, err := d.load(2*low, 2*end)
	if err != nil {
		return nil, err
	}
	out := make([]extent, len(pairs)/2)
	for i := range out {
		at, size := pairs[2*i], pairs[2*i+1]
		switch {
		case size == 0 && at == 1:
			out[i] = extent{0, 0}
		case size > uint64(d.file) || at > uint64(d.file)-size:
			return nil, corrupt.At(d.numbers.buffer.at+d.offset(low+uint64(i)), "a blob of %d bytes at %d, outside the %d bytes of data", size, at, d.file)
		default:
			out[i] = extent{int64(at), int64(size)}
		}
	}
	return out, nil
}

func (d *blobs) offset(i uint64) int64 { return int64(16 * i) }

func (d *blobs) request(low, end uint64, r *requests) error {
	where, err := d.where(low, end)
	if err != nil {
		return err
	}
	if where == nil {
		d.numbers.want(d.offset(low), d.offset(end), r)
		return nil
	}
	if low < d.first || end > d.first+uint64(len(d.content)) {
		d.first, d.content = low, make([]buffer, len(where))
		for i, x := range where {
			d.content[i].extent = x
		}
	}
	for i := low - d.first; i < end-d.first; i++ {
		d.content[i].want(0, d.content[i].size, r)
	}
	return nil
}

func (d *blobs) decode(low, end uint64) (arrow.ArrayData, error) {
	pairs, err := d.load(2*low, 2*end)
	if err != nil {
		return nil, err
	}
	var b, valid []byte
	missing := 0
	offsets := make([]uint64, end-low+1)
	for i := range end - low {
		if pairs[2*i] == 1 && pairs[2*i+1] == 0 {
			if valid == nil {
				valid = allValid(int(end - low))
			}
			valid[i/8] &^= 1 << (i % 8)
			missing++
		} else {
			content := &d.content[low+i-d.first]
			part, err := content.bytes(0, content.size)
			if err != nil {
				return nil, err
			}
			b = append(b, part...)
		}
		offsets[i+1] = uint64(len(b))
	}
	return textData(d.t, b, offsets, valid, missing)
}
