package arrowtype

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Values that repeat come as Arrow dictionaries from some files. Where what takes them can make use of that, they stay so on their way:
// a coded column is an array of Arrow's dictionary type, whose codes are unsigned and of 32 bits at most, and whose entries are an array of
// the canonical type of its field without nulls. An entry may come several times, and be of no row.

// Codable reports whether a column of a field may be coded: its values are stored as byte strings.
func Codable(n *schema.Node) bool {
	if len(n.Children) > 0 {
		return false
	}
	switch n.Basic {
	case schema.String, schema.Binary, schema.FixedSizeBinary, schema.Guid:
		return true
	}
	return false
}

// codedType is the type of the coded column that becomes of an array, or nil if its codes are signed or longer.
func codedType(a *array.Dictionary, values arrow.DataType) *arrow.DictionaryType {
	index := a.DataType().(*arrow.DictionaryType).IndexType
	switch index.ID() {
	case arrow.UINT8, arrow.UINT16, arrow.UINT32:
		return &arrow.DictionaryType{IndexType: index, ValueType: values}
	}
	return nil
}

// Codes gives the codes of a coded column, those of nulls too, which may be anything: in room if that is large enough and they have not
// 32 bits as they are.
func Codes(a *array.Dictionary, room []uint32) []uint32 {
	switch x := a.Indices().(type) {
	case *array.Uint8:
		return widenCodes(x.Uint8Values(), room)
	case *array.Uint16:
		return widenCodes(x.Uint16Values(), room)
	case *array.Uint32:
		return x.Uint32Values()
	}
	panic("arrowtype: " + a.DataType().String() + " is not a coded column")
}

func widenCodes[T uint8 | uint16](codes []T, room []uint32) []uint32 {
	if cap(room) < len(codes) {
		room = make([]uint32, len(codes))
	}
	room = room[:len(codes)]
	for i, c := range codes {
		room[i] = uint32(c)
	}
	return room
}

// Plain gives a column of a coded one, and any other as it is. The caller releases it.
func Plain(a arrow.Array) arrow.Array {
	d, ok := a.(*array.Dictionary)
	if !ok {
		a.Retain()
		return a
	}
	entries := d.Dictionary()
	if e, ok := entries.(array.ExtensionArray); ok {
		plain := expandCodes(d, e.Storage())
		defer plain.Release()
		return array.NewExtensionArrayWithStorage(e.DataType().(arrow.ExtensionType), plain)
	}
	return expandCodes(d, entries)
}

// expandCodes gives the values of codes among entries, whose type is none of an extension.
func expandCodes(d *array.Dictionary, entries arrow.Array) arrow.Array {
	codes := Codes(d, nil)
	switch v := entries.(type) {
	case *array.FixedSizeBinary:
		return expandFixed(d, codes, v)
	case *array.LargeString:
		return expandTexts(d, codes, v, v.ValueOffsets())
	case *array.LargeBinary:
		return expandTexts(d, codes, v, v.ValueOffsets())
	}
	return expand(entries, d.Len(), func(i int) int {
		if d.IsNull(i) {
			return -1
		}
		return int(codes[i])
	})
}

func expandFixed(d *array.Dictionary, codes []uint32, entries *array.FixedSizeBinary) arrow.Array {
	width := entries.DataType().(*arrow.FixedSizeBinaryType).ByteWidth
	out := make([]byte, len(codes)*width)
	var from []byte
	if b := entries.Data().Buffers()[1]; b != nil {
		from = b.Bytes()[entries.Data().Offset()*width:]
	}
	nulls := d.NullN() > 0
	for i, c := range codes {
		if !nulls || d.IsValid(i) {
			copy(out[i*width:(i+1)*width], from[int(c)*width:])
		}
	}
	return assemble(entries.DataType(), d, []*memory.Buffer{memory.NewBufferBytes(out)})
}

func expandTexts(d *array.Dictionary, codes []uint32, entries arrow.Array, ends []int64) arrow.Array {
	offsets, size, nulls := make([]int64, len(codes)+1), int64(0), d.NullN() > 0
	for i, c := range codes {
		if !nulls || d.IsValid(i) {
			size += ends[c+1] - ends[c]
		}
		offsets[i+1] = size
	}
	var from []byte
	if b := entries.Data().Buffers()[2]; b != nil {
		from = b.Bytes()
	}
	out := make([]byte, size)
	for i, c := range codes {
		if at := offsets[i]; at < offsets[i+1] {
			copy(out[at:], from[ends[c]:ends[c+1]])
		}
	}
	return assemble(entries.DataType(), d, []*memory.Buffer{memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(offsets)), memory.NewBufferBytes(out)})
}

// PlainBatch gives a batch of a schema without coded columns. The caller releases it.
func PlainBatch(b arrow.RecordBatch, s *arrow.Schema) arrow.RecordBatch {
	coded := false
	for _, c := range b.Columns() {
		coded = coded || c.DataType().ID() == arrow.DICTIONARY
	}
	if !coded {
		b.Retain()
		return b
	}
	columns := make([]arrow.Array, b.NumCols())
	for i, c := range b.Columns() {
		columns[i] = Plain(c)
		defer columns[i].Release()
	}
	return array.NewRecordBatch(s, columns, b.NumRows())
}

// BatchOf makes a batch of columns of a schema's fields, some of which may be coded. It keeps the columns.
func BatchOf(s *arrow.Schema, columns []arrow.Array, rows int64) arrow.RecordBatch {
	fields := []arrow.Field(nil)
	for i, c := range columns {
		if c.DataType().ID() != arrow.DICTIONARY {
			continue
		}
		if fields == nil {
			fields = s.Fields()
		}
		fields[i].Type = c.DataType()
	}
	if fields != nil {
		metadata := s.Metadata()
		s = arrow.NewSchema(fields, &metadata)
	}
	return array.NewRecordBatch(s, columns, rows)
}

// coded converts the entries of a dictionary, and leaves the codes as they are, where that can be; otherwise it is the values of codes.
func (im *importing) coded(a *array.Dictionary, p place) (arrow.Array, error) {
	typ := codedType(a, Type(p.n))
	if typ == nil || !p.n.Nullable && a.NullN() > 0 {
		return im.array(a, p)
	}
	entries, err := im.entries(a, p)
	if err != nil {
		return im.array(a, p)
	}
	defer entries.Release()
	if entries.NullN() > 0 || !arrow.TypeEqual(entries.DataType(), typ.ValueType) {
		return im.array(a, p)
	}
	d := a.Data()
	data := array.NewDataWithDictionary(typ, d.Len(), d.Buffers(), d.NullN(), d.Offset(), entries.Data().(*array.Data))
	defer data.Release()
	return array.MakeFromData(data), nil
}
