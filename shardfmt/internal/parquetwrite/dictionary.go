package parquetwrite

import (
	"sync"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/metadata"

	"github.com/shardcat/shardcat/internal/view"
)

const (
	// A dictionary of words has an entry for at least so many rows, one of texts, which are longer than the codes for them, for fewer.
	// With more, Zstd makes less of the values themselves than of codes and dictionary. It is judged at every step from judgedRows on.
	rowsPerWord, rowsPerText = 8, 4
	judgedRows               = 1 << 17
	// fewEntries are always taken, if they are at most half of the rows.
	fewEntries = 256
	// stepRows is how many rows get their codes between looks at the dictionary. After the first a column is given up if more
	// than four fifths of its rows are entries.
	stepRows = 1 << 14
	// maxEntries leaves codes of 16 bits for the entries of one more step.
	maxEntries = 1<<16 - stepRows
	// maxDictionary is the most bytes of a dictionary, which a reader has to hold as a whole; a step has as many bytes at most, or one row.
	maxDictionary = 1 << 20
	// pageCodes is how many codes a page has.
	pageCodes = 1 << 17
)

// table has the entries of a dictionary in the order in which they come first. Values are distinguished by their bits.
type table interface {
	// code finds the codes of values from some place on, none of which is null.
	code(codes []uint16, a arrow.Array, from int)
	// len is how many entries there are, and size how many bytes of them.
	len() int
	size() int64
	// entries gives them as an array of the type that the library takes for a dictionary.
	entries(c *column) arrow.Array
	// values gives what codes stand for.
	values(c *column, codes []uint16) arrow.Array
	// drop lets go of the memory, for another dictionary.
	drop()
}

var (
	wordTables = sync.Pool{New: func() any { return &wordTable{} }}
	textTables = sync.Pool{New: func() any { return &textTable{} }}
)

func newTable(k kind) table {
	if k == texts {
		t := textTables.Get().(*textTable)
		t.reset()
		return t
	}
	t := wordTables.Get().(*wordTable)
	t.reset()
	t.short = k == words32 || k == decimals32
	return t
}

func (t *wordTable) drop() { wordTables.Put(t) }
func (t *textTable) drop() { textTables.Put(t) }

func (t *wordTable) code(codes []uint16, a arrow.Array, from int) {
	if t.short {
		codeWords(t, codes, words[uint32](a)[from:])
	} else {
		codeWords(t, codes, words[uint64](a)[from:])
	}
}

func (t *textTable) code(codes []uint16, a arrow.Array, from int) {
	var bytes []byte
	if b := a.Data().Buffers()[2]; b != nil {
		bytes = b.Bytes()
	}
	switch a := a.(type) {
	case interface{ ValueOffsets() []int32 }:
		codeTexts(t, codes, bytes, a.ValueOffsets()[from:])
	case interface{ ValueOffsets() []int64 }:
		codeTexts(t, codes, bytes, a.ValueOffsets()[from:])
	}
}

func (t *wordTable) entries(c *column) arrow.Array { return wordArray(c, t.words) }

func (t *wordTable) values(c *column, codes []uint16) arrow.Array {
	all := make([]uint64, len(codes))
	for i, code := range codes {
		if len(t.words) > 0 { // or all are null
			all[i] = t.words[code]
		}
	}
	return wordArray(c, all)
}

// wordArray gives words as an array of the type of their column in Parquet.
func wordArray(c *column, words []uint64) arrow.Array {
	kind := map[parquet.Type]arrow.DataType{
		parquet.Types.Int32: arrow.PrimitiveTypes.Int32, parquet.Types.Float: arrow.PrimitiveTypes.Float32,
		parquet.Types.Int64: arrow.PrimitiveTypes.Int64, parquet.Types.Double: arrow.PrimitiveTypes.Float64,
	}[c.types.Column(0).PhysicalType()]
	raw := arrow.Uint64Traits.CastToBytes(words)
	if kind.(arrow.FixedWidthDataType).Bytes() == arrow.Uint32SizeBytes {
		short := make([]uint32, len(words))
		for i, word := range words {
			short[i] = uint32(word)
		}
		raw = arrow.Uint32Traits.CastToBytes(short)
	}
	return assemble(kind, len(words), memory.NewBufferBytes(raw))
}

func (t *textTable) entries(*column) arrow.Array {
	return assemble(arrow.BinaryTypes.LargeBinary, t.len(),
		memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(t.offsets)), memory.NewBufferBytes(t.bytes))
}

func (t *textTable) values(_ *column, codes []uint16) arrow.Array {
	bytes, offsets := []byte{}, make([]int64, 1, len(codes)+1)
	for _, code := range codes {
		if t.len() > 0 { // or all are null
			bytes = append(bytes, t.entry(uint32(code))...)
		}
		offsets = append(offsets, int64(len(bytes)))
	}
	return assemble(arrow.BinaryTypes.LargeBinary, len(codes),
		memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(offsets)), memory.NewBufferBytes(bytes))
}

// assemble makes an array without nulls.
func assemble(t arrow.DataType, n int, buffers ...*memory.Buffer) arrow.Array {
	data := array.NewData(t, n, append([]*memory.Buffer{nil}, buffers...), nil, 0, 0)
	defer data.Release()
	return array.MakeFromData(data)
}

// describe reports the statistics of a page that it has a dictionary's entries. (What the library does of itself looks for
// the entries that rows have, which are all of them, and leaves out the empty text.)
func describe(s metadata.TypedStatistics, entries arrow.Array, rows, nulls int64) {
	switch s := s.(type) {
	case *metadata.Int32Statistics:
		s.Update(words[int32](entries), nulls)
	case *metadata.Int64Statistics:
		s.Update(words[int64](entries), nulls)
	case *metadata.Float32Statistics:
		s.Update(words[float32](entries), nulls)
	case *metadata.Float64Statistics:
		s.Update(words[float64](entries), nulls)
	case *metadata.ByteArrayStatistics:
		all := make([]parquet.ByteArray, entries.Len())
		for i := range all {
			all[i] = entries.(*array.LargeBinary).Value(i)
		}
		s.Update(all, nulls)
	default:
		return
	}
	s.IncNumValues(rows - nulls - int64(entries.Len()))
}

// words gives the values of an array of fixed width, whatever its type.
func words[T int32 | int64 | uint32 | uint64 | float32 | float64](a arrow.Array) []T {
	b := a.Data().Buffers()[1]
	if b == nil || a.Len() == 0 {
		return nil
	}
	size := int(unsafe.Sizeof(T(0)))
	from := a.Data().Offset() * size
	return view.Of[T](b.Bytes()[from:from+a.Len()*size], a.Len())
}
