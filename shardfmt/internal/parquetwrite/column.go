package parquetwrite

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	pqschema "github.com/apache/arrow-go/v18/parquet/schema"
)

// column is a top-level column of a file.
type column struct {
	*settings
	schema *arrow.Schema    // of this column alone
	types  *pqschema.Schema // and the same in Parquet
	kind   kind
}

// kind is how the values of a column lie in memory.
type kind int

const (
	other   kind = iota // left to the library, nested columns among them
	words32             // as an array of 32 bits each
	words64
	texts // as bytes between offsets
	decimals32
	decimals64
)

func newColumn(f arrow.Field, how *settings) (*column, error) {
	c := &column{settings: how, schema: arrow.NewSchema([]arrow.Field{f}, nil), kind: kindOf(f.Type)}
	var err error
	c.types, err = parquetSchema(c.schema)
	return c, err
}

func kindOf(t arrow.DataType) kind {
	if e, ok := t.(arrow.ExtensionType); ok {
		t = e.StorageType()
	}
	switch t := t.(type) {
	case *arrow.Int32Type, *arrow.Uint32Type, *arrow.Date32Type, *arrow.Float32Type:
		return words32
	case *arrow.Int64Type, *arrow.Uint64Type, *arrow.Time64Type, *arrow.Float64Type:
		return words64
	case *arrow.TimestampType:
		if t.Unit != arrow.Second { // they become milliseconds
			return words64
		}
	case *arrow.StringType, *arrow.BinaryType, *arrow.LargeStringType, *arrow.LargeBinaryType:
		return texts
	case *arrow.Decimal128Type:
		switch {
		case t.Precision <= 9:
			return decimals32
		case t.Precision <= 18:
			return decimals64
		}
	}
	return other
}

func (c *column) name() string { return c.schema.Field(0).Name }

func (c *column) nullable() bool { return c.types.Column(0).MaxDefinitionLevel() > 0 }

// encoder encodes a column of one row group. Not for concurrent use.
type encoder interface {
	// add takes values, and keeps no reference to them.
	add(a arrow.Array) error
	// held is how many bytes of what was added are held, about.
	held() int64
	// work is how long adding takes, compared with others.
	work() int64
	// finish gives the pages. The encoder is not used after that.
	finish() (chunk, error)
}

// chunk is a column of a row group: the pages of its leaves in memory, and where in it they are.
type chunk struct {
	bytes *spool
	about []*metadata.ColumnChunkMetaDataBuilder
}

func (c *column) encoder() encoder {
	if c.kind == other {
		return &library{column: c, out: &spool{block: c.block}}
	}
	return newFlat(c)
}

// library has the library write a column, as a file of its own.
type library struct {
	column *column
	out    *spool
	w      *pqarrow.FileWriter
	size   int64
}

func (l *library) add(a arrow.Array) (err error) {
	if l.w == nil {
		l.w, err = pqarrow.NewFileWriter(l.column.schema, l.out, l.column.withoutFloats(l.column.types), pqarrow.DefaultWriterProps())
		if err != nil {
			return err
		}
	}
	b := array.NewRecordBatch(l.column.schema, []arrow.Array{a}, int64(a.Len()))
	defer b.Release()
	l.size += int64(a.Data().SizeInBytes())
	return l.w.WriteBuffered(b)
}

func (l *library) held() int64 { return l.w.RowGroupTotalBytesWritten() }

func (l *library) work() int64 { return l.size }

func (l *library) finish() (chunk, error) {
	if err := l.w.Close(); err != nil {
		return chunk{}, err
	}
	about, err := l.w.FileMetadata()
	if err != nil {
		return chunk{}, err
	}
	done := chunk{bytes: l.out}
	for i, leaf := range about.RowGroups[0].Columns {
		if l.column.types.Column(i).SortOrder() == pqschema.SortUNKNOWN {
			leaf.MetaData.Statistics = nil // the library knows another type, by the order of which they are
		}
		done.about = append(done.about, metadata.NewColumnChunkMetaDataBuilderWithContents(l.column.anything, l.column.types.Column(i), leaf))
	}
	return done, nil
}

// stored gives values as they are stored: decimals are integers, in room. The caller releases it.
func (c *column) stored(a arrow.Array, room *[]uint64) (arrow.Array, error) {
	if e, ok := a.(array.ExtensionArray); ok {
		a = e.Storage()
	}
	var out arrow.Array
	switch c.kind {
	case decimals32:
		out = integers[int32](a.(*array.Decimal128), room, arrow.PrimitiveTypes.Int32)
	case decimals64:
		out = integers[int64](a.(*array.Decimal128), room, arrow.PrimitiveTypes.Int64)
	default:
		a.Retain()
		return a, nil
	}
	if out == nil {
		return nil, fmt.Errorf("field %q: a decimal with more digits than %s has", c.name(), c.schema.Field(0).Type)
	}
	return out, nil
}

// integers gives decimals as integers, or nil if one has more digits than its type.
func integers[T int32 | int64](a *array.Decimal128, room *[]uint64, t arrow.DataType) arrow.Array {
	*room = slices.Grow((*room)[:0], a.Len())[:a.Len()]
	raw := arrow.Uint64Traits.CastToBytes(*room)[:a.Len()*int(unsafe.Sizeof(T(0)))]
	out := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(*room))), a.Len())
	most := uint64(math.Pow10(int(a.DataType().(*arrow.Decimal128Type).Precision))) - 1
	for i, d := range a.Values() {
		low := int64(d.LowBits())
		out[i] = T(low)
		if (d.HighBits() != low>>63 || uint64(max(low, -low)) > most) && a.IsValid(i) {
			return nil
		}
	}
	buffers := []*memory.Buffer{nil, memory.NewBufferBytes(raw)}
	if a.NullN() > 0 {
		buffers[0] = memory.NewBufferBytes(appendValidity(nil, 0, a))
	}
	data := array.NewData(t, a.Len(), buffers, nil, a.NullN(), 0)
	defer data.Release()
	return array.MakeFromData(data)
}
