package lance

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// maxChunkValues bounds the values of a chunk: writers make chunks of at most 32,768, and few bytes can claim many.
const maxChunkValues = 1 << 18

// maxChunkPlain bounds a decompressed buffer of a chunk. Writers compress 64 KiB at most.
const maxChunkPlain = 64 << 20

// values are decoded values without a type: n of a fixed width, texts, lists of one length or structs.
type values struct {
	n int
	// bits of a value, in data, if the width is fixed.
	bits uint64
	data []byte
	// offsets of texts in data, one more than there are values; the first may be above 0.
	offsets []uint64
	// list has the items of lists of dimension items each, valid reports which of them are not null.
	list      *values
	dimension int
	valid     []byte
	// fields of structs.
	fields []*values
}

// sized checks that a buffer has n values of a fixed width.
func sized(b []byte, bitsEach uint64, n int) (*values, error) {
	over, total := bits.Mul64(bitsEach, uint64(n))
	if over != 0 || total > math.MaxInt64-7 || (total+7)/8 > uint64(len(b)) {
		return nil, corrupt.At(-1, "%d values of %d bits in a buffer of %d bytes", n, bitsEach, len(b))
	}
	return &values{n: n, bits: bitsEach, data: b[:(total+7)/8]}, nil
}

// chunk decodes n values of one chunk of a mini-block page from its buffers.
func (c *codec) chunk(buffers [][]byte, n int) (*values, error) {
	due := c.chunkBuffers()
	if len(buffers) != due {
		return nil, corrupt.At(-1, "%v: %d buffers per chunk, expected %d", c, len(buffers), due)
	}
	switch c.kind {
	case flatCodec, inlineCodec, outOfLineCodec:
		return c.block(buffers[0], n)
	case variableCodec:
		return c.chunkTexts(buffers[0], n)
	case fsstCodec:
		v, err := c.values.chunk(buffers, n)
		if err != nil {
			return nil, err
		}
		return v, c.expand(v)
	case generalCodec:
		plain, err := decompressUpTo(c.scheme, buffers[0], maxChunkPlain)
		if err != nil {
			return nil, err
		}
		return c.values.chunk(append([][]byte{plain}, buffers[1:]...), n)
	case rleCodec:
		return c.runs(buffers[0], buffers[1], n)
	case splitCodec:
		return c.join(buffers[0], n)
	case packedCodec:
		rows, err := c.values.chunk(buffers, n)
		if err != nil {
			return nil, err
		}
		return c.unpackRows(rows)
	case fixedListCodec:
		return c.lists(buffers, n)
	}
	return nil, corrupt.Unsupported(-1, "mini-block values as %v", c)
}

// chunkBuffers is how many buffers of a chunk an encoding takes.
func (c *codec) chunkBuffers() int {
	switch c.kind {
	case rleCodec:
		return 2
	case fixedListCodec:
		if c.hasValidity {
			return 1 + c.values.chunkBuffers()
		}
		return c.values.chunkBuffers()
	case generalCodec:
		return c.values.chunkBuffers()
	}
	return 1
}

// block decodes n values of a buffer that is on its own: levels, or the items of a dictionary.
func (c *codec) block(b []byte, n int) (*values, error) {
	switch c.kind {
	case flatCodec:
		return sized(b, c.bits, n)
	case inlineCodec:
		data, err := unpackInline(b, c.bits, n)
		return &values{n: n, bits: c.bits, data: data}, err
	case outOfLineCodec:
		data, err := unpackOutOfLine(b, c.bits, c.values.bits, n)
		return &values{n: n, bits: c.bits, data: data}, err
	case variableCodec:
		return blockTexts(b, n)
	case generalCodec:
		plain, err := decompressUpTo(c.scheme, b, maxPlain)
		if err != nil {
			return nil, err
		}
		return c.values.block(plain, n)
	case rleCodec:
		if len(b) < 8 {
			return nil, corrupt.At(-1, "Rle: block of %d bytes", len(b))
		}
		size := binary.LittleEndian.Uint64(b)
		if b = b[8:]; size > uint64(len(b)) {
			return nil, corrupt.At(-1, "Rle: values of %d bytes in a block of %d", size, len(b))
		}
		return c.runs(b[:size], b[size:], n)
	case fixedListCodec:
		if !c.hasValidity {
			return c.lists([][]byte{b}, n)
		}
	}
	return nil, corrupt.Unsupported(-1, "a block of values as %v", c)
}

// chunkTexts decodes texts whose offsets stand in front of them and count from the start of the buffer.
func (c *codec) chunkTexts(b []byte, n int) (*values, error) {
	if c.values.kind != flatCodec || c.values.bits != 32 && c.values.bits != 64 {
		return nil, corrupt.Unsupported(-1, "offsets of values as %v", c.values)
	}
	return texted(b, b, int(c.values.bits/8), n)
}

// texted reads n+1 offsets of width bytes, which point into data.
func texted(offsets, data []byte, width, n int) (*values, error) {
	if uint64(len(offsets)) < (uint64(n)+1)*uint64(width) {
		return nil, corrupt.At(-1, "%d offsets of %d bytes in a buffer of %d bytes", n+1, width, len(offsets))
	}
	v := &values{n: n, data: data, offsets: make([]uint64, n+1)}
	last := uint64(0)
	for i := range v.offsets {
		at := readWord(offsets[i*width:], width)
		if at < last || at > uint64(len(data)) {
			return nil, corrupt.At(-1, "offset %d is %d, outside [%d, %d]", i, at, last, len(data))
		}
		v.offsets[i], last = at, at
	}
	return v, nil
}

// blockTexts decodes texts with a header: the bits of an offset, and where the texts begin. Old writers put the number of
// values between the two, after a single byte for the bits.
func blockTexts(b []byte, n int) (*values, error) {
	if len(b) < 9 {
		return nil, corrupt.At(-1, "texts: block of %d bytes", len(b))
	}
	width := int(b[0]) / 8
	if b[0] != 32 && b[0] != 64 {
		return nil, corrupt.At(-1, "texts: offsets of %d bits", b[0])
	}
	at := width
	if b[1]|b[2]|b[3] != 0 {
		at = 1 + width
	}
	if len(b) < at+width {
		return nil, corrupt.At(-1, "texts: block of %d bytes", len(b))
	}
	start := readWord(b[at:], width)
	if at += width; start < uint64(at) || start > uint64(len(b)) {
		return nil, corrupt.At(-1, "texts: begin at %d of a block of %d bytes", start, len(b))
	}
	return texted(b[at:start], b[start:], width, n)
}

// expand undoes FSST.
func (c *codec) expand(v *values) error {
	symbols, err := parseSymbols(c.symbols)
	if err != nil {
		return err
	}
	if v.offsets == nil {
		return corrupt.At(-1, "encoding Fsst of %v", c.values)
	}
	if symbols == nil {
		return nil
	}
	first := v.offsets[0]
	for i := range v.offsets {
		v.offsets[i] -= first
	}
	v.data, err = symbols.expand(v.data[first:], v.offsets)
	return err
}

// runs undoes run-length encoding. The last run may reach beyond the n values.
func (c *codec) runs(b, lengths []byte, n int) (*values, error) {
	if n == 0 {
		return &values{bits: c.values.bits}, nil
	}
	if c.values.kind != flatCodec || c.more.kind != flatCodec || !isWordBits(c.values.bits) || !isWordBits(c.more.bits) || c.more.bits > 32 {
		return nil, corrupt.Unsupported(-1, "runs as %v", c)
	}
	size, lengthSize := int(c.values.bits/8), int(c.more.bits/8)
	count := len(b) / size
	if len(b)%size != 0 || len(lengths) != count*lengthSize {
		return nil, corrupt.At(-1, "Rle: values of %d bytes, run lengths of %d bytes", len(b), len(lengths))
	}
	total := uint64(0)
	for i := range count {
		total += readWord(lengths[i*lengthSize:], lengthSize)
	}
	if total < uint64(n) {
		return nil, corrupt.At(-1, "Rle: runs of %d values, expected %d", total, n)
	}
	out := make([]byte, 0, n*size)
	for i := range count {
		run := readWord(lengths[i*lengthSize:], lengthSize)
		for range min(run, uint64(n-len(out)/size)) {
			out = append(out, b[i*size:][:size]...)
		}
	}
	return &values{n: n, bits: c.values.bits, data: out}, nil
}

// runTotal is how many values the runs of a block have together, and whether the encoding states them.
func (c *codec) runTotal(b []byte) (uint64, bool) {
	if c.kind != rleCodec || c.more.kind != flatCodec || !isWordBits(c.more.bits) || len(b) < 8 {
		return 0, false
	}
	size := binary.LittleEndian.Uint64(b)
	if b = b[8:]; size > uint64(len(b)) {
		return 0, false
	}
	total, width := uint64(0), int(c.more.bits/8)
	for b = b[size:]; len(b) >= width; b = b[width:] {
		total += readWord(b, width) & math.MaxUint32
	}
	return total, true
}

// join undoes the split of values into streams of bytes.
func (c *codec) join(b []byte, n int) (*values, error) {
	if c.values.kind != flatCodec || c.values.bits%8 != 0 || c.values.bits > 64 {
		return nil, corrupt.Unsupported(-1, "values as %v", c)
	}
	v, err := sized(b, c.values.bits, n)
	if err != nil {
		return nil, err
	}
	size := int(v.bits / 8)
	out := make([]byte, n*size)
	for i := range n {
		for j := range size {
			out[i*size+j] = v.data[j*n+i]
		}
	}
	v.data = out
	return v, nil
}

// unpackRows splits rows of structs into their fields.
func (c *codec) unpackRows(rows *values) (*values, error) {
	total := uint64(0)
	for _, width := range c.widths {
		if width == 0 || width%8 != 0 || width > maxValueBits {
			return nil, corrupt.At(-1, "PackedStruct: field of %d bits", width)
		}
		if total += width; total > maxValueBits {
			return nil, corrupt.At(-1, "PackedStruct: rows of more than %d bits", uint64(maxValueBits))
		}
	}
	if rows.bits != total {
		return nil, corrupt.At(-1, "PackedStruct: rows of %d bits, the fields have %d", rows.bits, total)
	}
	out := &values{n: rows.n}
	at, row := 0, int(total/8)
	for _, width := range c.widths {
		size := int(width / 8)
		field := &values{n: rows.n, bits: width, data: make([]byte, 0, rows.n*size)}
		for i := range rows.n {
			field.data = append(field.data, rows.data[i*row+at:][:size]...)
		}
		at += size
		out.fields = append(out.fields, field)
	}
	return out, nil
}

// lists decodes lists of one length: a buffer for the validity of each layer that has one, and that of the items.
func (c *codec) lists(buffers [][]byte, n int) (*values, error) {
	over, total := bits.Mul64(c.dimension, uint64(n))
	if over != 0 || total > math.MaxInt32 {
		return nil, corrupt.At(-1, "FixedSizeList: %d lists of %d items", n, c.dimension)
	}
	out := &values{n: n, dimension: int(c.dimension)}
	if c.hasValidity {
		if len(buffers) == 0 || uint64(len(buffers[0])) < (total+7)/8 {
			return nil, corrupt.At(-1, "FixedSizeList: validity of %d items missing", total)
		}
		out.valid, buffers = buffers[0][:(total+7)/8], buffers[1:]
	}
	if c.values.kind != fixedListCodec && c.values.kind != flatCodec {
		return nil, corrupt.Unsupported(-1, "fixed-size lists as %v", c)
	}
	var err error
	out.list, err = c.values.chunk(buffers, int(total))
	return out, err
}

// arrow gives values a type.
func (v *values) arrow(t arrow.DataType) (arrow.ArrayData, error) {
	if ext, ok := t.(arrow.ExtensionType); ok {
		data, err := v.arrow(ext.StorageType())
		if err != nil {
			return nil, err
		}
		return rebuild(data, t, data.Buffers(), data.NullN()), nil
	}
	switch t := t.(type) {
	case *arrow.FixedSizeListType:
		if v.list == nil || v.dimension != int(t.Len()) {
			return nil, v.mismatch(t)
		}
		items, err := v.list.arrow(t.Elem())
		if err != nil {
			return nil, err
		}
		if v.valid != nil {
			items = mask(items, memory.NewBufferBytes(v.valid))
		}
		return array.NewData(t, v.n, []*memory.Buffer{nil}, []arrow.ArrayData{items}, 0, 0), nil
	case *arrow.StructType:
		if v.fields == nil || len(v.fields) != t.NumFields() {
			return nil, v.mismatch(t)
		}
		children := make([]arrow.ArrayData, len(v.fields))
		for i, field := range v.fields {
			var err error
			if children[i], err = field.arrow(t.Field(i).Type); err != nil {
				return nil, err
			}
		}
		return array.NewData(t, v.n, []*memory.Buffer{nil}, children, 0, 0), nil
	case *arrow.DictionaryType, *arrow.NullType:
		return nil, v.mismatch(t)
	}
	if arrow.IsBaseBinary(t.ID()) {
		return v.texts(t)
	}
	fixed, ok := t.(arrow.FixedWidthDataType)
	if !ok || v.bits != uint64(fixed.BitWidth()) {
		return nil, v.mismatch(t)
	}
	return array.NewData(t, v.n, []*memory.Buffer{nil, memory.NewBufferBytes(aligned(v.data, (v.bits+7)/8))}, nil, 0, 0), nil
}

// texts gives values the type of strings or binary values.
func (v *values) texts(t arrow.DataType) (arrow.ArrayData, error) {
	if v.offsets == nil {
		return nil, v.mismatch(t)
	}
	first, last := v.offsets[0], v.offsets[v.n]
	b, offsets := v.data[first:last], v.offsets
	if first > 0 {
		offsets = make([]uint64, len(v.offsets))
		for i, at := range v.offsets {
			offsets[i] = at - first
		}
	}
	if isString(t) {
		if i, ok := firstInvalid(b, offsets, nil); !ok {
			return nil, corrupt.At(-1, "value %.40q is not UTF-8", b[offsets[i]:offsets[i+1]])
		}
	}
	return textData(t, b, offsets, nil, 0)
}

func (v *values) mismatch(t arrow.DataType) error {
	what := "texts"
	switch {
	case v.list != nil:
		what = "fixed-size lists"
	case v.fields != nil:
		what = "structs"
	case v.offsets == nil:
		return corrupt.At(-1, "%d bits for a value of type %s", v.bits, t)
	}
	return corrupt.At(-1, "%s for values of type %s", what, t)
}

// numbers widens values of up to 64 bits.
func (v *values) numbers() ([]uint64, error) {
	if !isWordBits(v.bits) || v.list != nil || v.fields != nil || v.offsets != nil {
		return nil, corrupt.At(-1, "indices of %d bits", v.bits)
	}
	out, size := make([]uint64, v.n), int(v.bits/8)
	for i := range out {
		out[i] = readWord(v.data[i*size:], size)
	}
	return out, nil
}
