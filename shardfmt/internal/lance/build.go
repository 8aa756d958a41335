package lance

import (
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// builder makes decoders of the pages of one column.
type builder struct {
	f      *File
	column *column
	page   *page
	// items decodes the items of a column of lists; base counts those of the pages before.
	items decoder
	base  uint64
	// fields decode those of a struct.
	fields []decoder
	// shared are dictionaries in buffers that several pages name.
	shared map[sharedKey]*items
}

// sharedKey distinguishes dictionaries that are not in a page of their own.
type sharedKey struct {
	at    bufferRef
	count uint64
}

// resolve finds a buffer.
func (b *builder) resolve(r bufferRef) (extent, error) {
	var of []extent
	var what string
	switch r.place {
	case ofPage:
		of, what = b.page.buffers, "page"
	case ofColumn:
		of, what = b.column.buffers, "column"
	case ofFile:
		of, what = b.f.c.globals, "file"
	default:
		return extent{}, corrupt.Unsupported(-1, "a buffer of unknown scope %d: must be page, column or file", r.place)
	}
	if r.index >= uint64(len(of)) {
		return extent{}, corrupt.At(-1, "buffer %d of a %s that has %d", r.index, what, len(of))
	}
	return of[r.index], nil
}

// fixed makes a decoder of n values of a Flat encoding.
func (b *builder) fixed(e *encoding, t arrow.DataType, n uint64) (*flat, error) {
	if e.kind != flatKind {
		return nil, corrupt.Unsupported(-1, "%v, expected Flat", e.kind)
	}
	x, err := b.resolve(e.buffer)
	if err != nil {
		return nil, err
	}
	over, total := bits.Mul64(n, e.bits)
	if over != 0 || total > math.MaxInt64-7 {
		return nil, corrupt.At(x.at, "%d values of %d bits", n, e.bits)
	}
	due := int64((total + 7) / 8)
	if e.scheme == "" && due > x.size {
		return nil, corrupt.At(x.at, "%d values of %d bits in a buffer of %d bytes", n, e.bits, x.size)
	}
	return &flat{buffer: buffer{extent: x, scheme: e.scheme, due: due}, t: t, bits: e.bits}, nil
}

// whole makes numbers of an encoding of offsets or indices, which may report that there are no nulls.
func (b *builder) whole(e *encoding, n uint64) (numbers, error) {
	for e.kind == nullableKind && e.validity == nil && !e.allNull {
		e = e.values
	}
	if e.kind == flatKind && e.bits > 64 {
		return numbers{}, corrupt.At(-1, "offsets or indices of %d bits", e.bits)
	}
	d, err := b.fixed(e, arrow.PrimitiveTypes.Uint64, n)
	if err != nil {
		return numbers{}, err
	}
	return numbers{*d}, nil
}

// decoder makes the decoder of n values of type t.
func (b *builder) decoder(e *encoding, t arrow.DataType, n uint64) (decoder, error) {
	if ext, ok := t.(arrow.ExtensionType); ok {
		inner, err := b.decoder(e, ext.StorageType(), n)
		return &typed{t, inner}, err
	}
	switch e.kind {
	case nullableKind:
		return b.nullable(e, t, n)
	case flatKind:
		return b.values(e, t, n)
	case fixedListKind:
		return b.fixedList(e, t, n)
	case binaryKind, fsstKind:
		return b.text(e, t, n)
	case dictionaryKind:
		return b.dictionary(e, t, n)
	case listKind:
		return b.lists(e, t, n)
	case structKind:
		of, ok := t.(*arrow.StructType)
		if !ok || of.NumFields() != len(b.fields) {
			return nil, mismatch(e, t)
		}
		return &structs{t, b.fields}, nil
	case packedKind:
		if b.column.blob {
			return b.blobs(e, t, n)
		}
		return b.packed(e, t, n)
	}
	return nil, mismatch(e, t)
}

func mismatch(e *encoding, t arrow.DataType) error {
	return corrupt.At(-1, "encoding %v of values of type %s", e.kind, t)
}

func (b *builder) nullable(e *encoding, t arrow.DataType, n uint64) (decoder, error) {
	if e.allNull {
		if nullWidth(t) > maxNullWidth {
			return nil, corrupt.Unsupported(-1, "nulls of type %s, which take more than %d bytes each", t, maxNullWidth)
		}
		return &allNull{t}, nil
	}
	values, err := b.decoder(e.values, t, n)
	if err != nil || e.validity == nil {
		return values, err
	}
	if e.validity.kind != flatKind || e.validity.bits != 1 {
		return nil, corrupt.Unsupported(-1, "validity as %v, expected a bitmap", e.validity)
	}
	validity, err := b.fixed(e.validity, arrow.FixedWidthTypes.Boolean, n)
	return &nulls{validity, values}, err
}

// maxNullWidth bounds what a null takes in memory, in bytes, for which nothing is stored.
const maxNullWidth = 1 << 16

// nullWidth is about how many bytes a null takes.
func nullWidth(t arrow.DataType) uint64 {
	switch t := t.(type) {
	case *arrow.FixedSizeListType:
		over, n := bits.Mul64(nullWidth(t.Elem()), uint64(t.Len()))
		if over != 0 {
			return math.MaxUint64
		}
		return n
	case *arrow.FixedSizeBinaryType:
		return uint64(t.ByteWidth)
	}
	return 8
}

// values are plain numbers, times and the like.
func (b *builder) values(e *encoding, t arrow.DataType, n uint64) (decoder, error) {
	fixed, ok := t.(arrow.FixedWidthDataType)
	if !ok || t.ID() == arrow.FIXED_SIZE_LIST || t.ID() == arrow.DICTIONARY {
		return nil, mismatch(e, t)
	}
	width := uint64(fixed.BitWidth())
	if e.bits != width && (e.bits > width || e.bits%8 == 0 || e.bits == 1 || !arrow.IsInteger(t.ID())) {
		return nil, corrupt.At(-1, "%d bits for a value of type %s", e.bits, t)
	}
	return b.fixed(e, t, n)
}

func (b *builder) fixedList(e *encoding, t arrow.DataType, n uint64) (decoder, error) {
	list, ok := t.(*arrow.FixedSizeListType)
	if !ok {
		return nil, mismatch(e, t)
	}
	if uint64(list.Len()) != e.dimension {
		return nil, corrupt.At(-1, "lists of %d items for type %s", e.dimension, t)
	}
	over, total := bits.Mul64(n, e.dimension)
	if over != 0 {
		return nil, corrupt.At(-1, "%d lists of %d items", n, e.dimension)
	}
	items, err := b.decoder(e.values, list.Elem(), total)
	return &fixedList{list, items}, err
}

// text makes the decoder of strings and binary values, with or without FSST.
func (b *builder) text(e *encoding, t arrow.DataType, n uint64) (decoder, error) {
	d := &text{t: t}
	if e.kind == fsstKind {
		var err error
		if d.symbols, err = parseSymbols(e.symbols); err != nil {
			return nil, err
		}
		if e = e.values; e.kind != binaryKind {
			return nil, corrupt.At(-1, "encoding Fsst of %v", e.kind)
		}
	}
	if !arrow.IsBaseBinary(t.ID()) {
		return nil, mismatch(e, t)
	}
	content := e.more
	for content.kind == nullableKind && content.validity == nil && !content.allNull {
		content = content.values
	}
	if content.kind != flatKind || content.bits != 8 {
		return nil, corrupt.Unsupported(-1, "the bytes of strings as %v", content)
	}
	x, err := b.resolve(content.buffer)
	if err != nil {
		return nil, err
	}
	d.content = buffer{extent: x, scheme: content.scheme}
	limit := uint64(x.size)
	if content.scheme != "" {
		limit = maxPlain
	}
	d.ends, err = b.ends(e, n, limit)
	return d, err
}

// ends makes the offsets of lists and texts.
func (b *builder) ends(e *encoding, n, limit uint64) (out ends, err error) {
	if out.numbers, err = b.whole(e.values, n); err != nil {
		return out, err
	}
	if out.adjustment, out.limit = e.adjustment, limit; e.adjustment == 0 && n > 0 {
		return out, corrupt.At(-1, "encoding %v with a null adjustment of 0, which makes every value null", e.kind)
	}
	return out, nil
}

func (b *builder) dictionary(e *encoding, t arrow.DataType, n uint64) (decoder, error) {
	indices, err := b.whole(e.values, n)
	if err != nil {
		return nil, err
	}
	of := t
	dict, isDictionary := t.(*arrow.DictionaryType)
	if isDictionary {
		of = dict.ValueType
	} else if !arrow.IsBaseBinary(t.ID()) {
		return nil, mismatch(e, t)
	}
	values, err := b.sharedItems(e, of)
	if err != nil {
		return nil, err
	}
	if isDictionary {
		return &arrowDictionary{indexed{indices, values}, dict}, nil
	}
	return &textDictionary{indexed{indices, values}, t}, nil
}

// sharedItems makes the items of a dictionary, once where they are not buffers of a page.
func (b *builder) sharedItems(e *encoding, t arrow.DataType) (*items, error) {
	key, shared := leafOf(e.more)
	known := b.shared[sharedKey{key, e.count}]
	if shared = shared && key.place != ofPage; shared && known != nil {
		return known, nil
	}
	values, err := b.decoder(e.more, t, e.count)
	if err != nil {
		return nil, err
	}
	out := &items{decoder: values, count: e.count}
	if _, isNull := values.(*allNull); isNull && e.count > maxNullWidth {
		return nil, corrupt.Unsupported(-1, "a dictionary of %d nulls", e.count)
	}
	if shared {
		b.shared[sharedKey{key, e.count}] = out
	}
	return out, nil
}

// leafOf is the buffer of the values in an encoding.
func leafOf(e *encoding) (bufferRef, bool) {
	for e != nil && e.kind != flatKind {
		if e.kind == binaryKind {
			e = e.more
			continue
		}
		e = e.values
	}
	if e == nil {
		return bufferRef{}, false
	}
	return e.buffer, true
}

func (b *builder) lists(e *encoding, t arrow.DataType, n uint64) (decoder, error) {
	asText := arrow.IsBaseBinary(t.ID())
	if b.items == nil || t.ID() != arrow.LIST && t.ID() != arrow.LARGE_LIST && !asText {
		return nil, mismatch(e, t)
	}
	if n > 0 && e.adjustment <= e.count {
		return nil, corrupt.At(-1, "lists of %d items with a null adjustment of %d, which has to be more", e.count, e.adjustment)
	}
	d := &lists{t: t, items: b.items, base: b.base, asText: asText}
	var err error
	d.ends, err = b.ends(e, n, e.count)
	return d, err
}

func (b *builder) packed(e *encoding, t arrow.DataType, n uint64) (decoder, error) {
	of, ok := t.(*arrow.StructType)
	if !ok || of.NumFields() != len(e.inner) {
		return nil, mismatch(e, t)
	}
	d := &packed{of: of}
	total := 0
	for _, f := range of.Fields() {
		width, err := packedWidth(f.Type)
		if err != nil {
			return nil, err
		}
		d.widths = append(d.widths, width)
		if total += width; total > maxValueBits/8 {
			return nil, corrupt.Unsupported(-1, "packed structs of more than %d bytes", maxValueBits/8)
		}
	}
	row := &encoding{kind: flatKind, bits: uint64(total) * 8, buffer: e.buffer}
	values, err := b.fixed(row, t, n)
	if err == nil {
		d.flat = *values
	}
	return d, err
}

// packedWidth is the size of a field of a packed struct, in bytes.
func packedWidth(t arrow.DataType) (int, error) {
	if list, ok := t.(*arrow.FixedSizeListType); ok {
		width, err := packedWidth(list.Elem())
		if width > 0 && int(list.Len()) > maxValueBits/8/width {
			return 0, corrupt.Unsupported(-1, "a field of type %s in a packed struct", t)
		}
		return width * int(list.Len()), err
	}
	fixed, ok := t.(arrow.FixedWidthDataType)
	if !ok || fixed.BitWidth()%8 != 0 || fixed.BitWidth() == 0 || t.ID() == arrow.DICTIONARY || t.ID() == arrow.EXTENSION {
		return 0, corrupt.Unsupported(-1, "a field of type %s in a packed struct", t)
	}
	return fixed.BitWidth() / 8, nil
}

func (b *builder) blobs(e *encoding, t arrow.DataType, n uint64) (decoder, error) {
	if !arrow.IsBaseBinary(t.ID()) || n > math.MaxInt64/128 {
		return nil, mismatch(e, t)
	}
	places, err := b.whole(&encoding{kind: flatKind, bits: 64, buffer: e.buffer}, 2*n)
	return &blobs{numbers: places, t: t, file: b.f.c.dataEnd}, err
}
