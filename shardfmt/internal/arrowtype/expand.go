package arrowtype

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// nulls is an array of n nulls.
func nulls(t arrow.DataType, n int) arrow.Array {
	b := array.NewBuilder(memory.DefaultAllocator, t)
	defer b.Release()
	b.AppendNulls(n)
	return b.NewArray()
}

// expand makes an array of n values, value i being values[index(i)], or null where the index is negative.
func expand(values arrow.Array, n int, index func(i int) int) arrow.Array {
	b := array.NewBuilder(memory.DefaultAllocator, values.DataType())
	defer b.Release()
	b.Reserve(n)
	put := appender(b, values)
	for i := range n {
		if v := index(i); v >= 0 && !values.IsNull(v) {
			put(v)
		} else if v >= 0 && values.DataType().ID() == arrow.SPARSE_UNION {
			put(v)
		} else {
			b.AppendNull()
		}
	}
	return b.NewArray()
}

// appender appends single non-null values of a canonical array to a builder of its type.
func appender(b array.Builder, a arrow.Array) func(i int) {
	if e, ok := a.(array.ExtensionArray); ok {
		return appender(b.(interface{ StorageBuilder() array.Builder }).StorageBuilder(), e.Storage())
	}
	switch b := b.(type) {
	case *array.NullBuilder:
		return func(int) { b.AppendNull() }
	case *array.BooleanBuilder:
		v := a.(*array.Boolean)
		return func(i int) { b.Append(v.Value(i)) }
	case *array.LargeStringBuilder:
		v := a.(*array.LargeString)
		return func(i int) { b.Append(v.Value(i)) }
	case *array.BinaryBuilder:
		v := a.(*array.LargeBinary)
		return func(i int) { b.Append(v.Value(i)) }
	case *array.FixedSizeBinaryBuilder:
		v := a.(*array.FixedSizeBinary)
		return func(i int) { b.Append(v.Value(i)) }
	}
	if put := numberAppender(b, a); put != nil {
		return put
	}
	return nestedAppender(b, a)
}

type numberBuilder[T any] interface{ Append(T) }

type numberArray[T any] interface{ Value(int) T }

func copyNumber[T any](b numberBuilder[T], a arrow.Array) func(i int) {
	v := a.(numberArray[T])
	return func(i int) { b.Append(v.Value(i)) }
}

func numberAppender(b array.Builder, a arrow.Array) func(i int) {
	switch b := b.(type) {
	case *array.Int8Builder:
		return copyNumber(b, a)
	case *array.Int16Builder:
		return copyNumber(b, a)
	case *array.Int32Builder:
		return copyNumber(b, a)
	case *array.Int64Builder:
		return copyNumber(b, a)
	case *array.Uint8Builder:
		return copyNumber(b, a)
	case *array.Uint16Builder:
		return copyNumber(b, a)
	case *array.Uint32Builder:
		return copyNumber(b, a)
	case *array.Uint64Builder:
		return copyNumber(b, a)
	case *array.Float32Builder:
		return copyNumber(b, a)
	case *array.Float64Builder:
		return copyNumber(b, a)
	}
	return nil
}

func nestedAppender(b array.Builder, a arrow.Array) func(i int) {
	switch b := b.(type) {
	case *array.StructBuilder:
		v := a.(*array.Struct)
		var fields []func(int)
		for i := range b.NumField() {
			fields = append(fields, nullableAppender(b.FieldBuilder(i), v.Field(i)))
		}
		return func(i int) {
			b.Append(true)
			for _, f := range fields {
				f(i)
			}
		}
	case *array.SparseUnionBuilder:
		return unionAppender(b, a.(*array.SparseUnion))
	case *array.MapBuilder:
		v := a.(*array.Map)
		key, item := nullableAppender(b.KeyBuilder(), v.Keys()), nullableAppender(b.ItemBuilder(), v.Items())
		return rangeAppender(func() { b.Append(true) }, v, func(i int) { key(i); item(i) })
	case *array.LargeListBuilder:
		v := a.(*array.LargeList)
		return rangeAppender(func() { b.Append(true) }, v, nullableAppender(b.ValueBuilder(), v.ListValues()))
	case *array.FixedSizeListBuilder:
		v := a.(*array.FixedSizeList)
		return rangeAppender(func() { b.Append(true) }, v, nullableAppender(b.ValueBuilder(), v.ListValues()))
	}
	panic(fmt.Sprintf("arrowtype: %s is not a canonical type", a.DataType()))
}

func nullableAppender(b array.Builder, a arrow.Array) func(i int) {
	put := appender(b, a)
	if a.DataType().ID() == arrow.SPARSE_UNION {
		return put
	}
	return func(i int) {
		if a.IsNull(i) {
			b.AppendNull()
			return
		}
		put(i)
	}
}

func unionAppender(b *array.SparseUnionBuilder, a *array.SparseUnion) func(i int) {
	var variants []func(int)
	for i := range a.NumFields() {
		variants = append(variants, nullableAppender(b.Child(i), a.Field(i)))
	}
	return func(i int) {
		b.Append(a.TypeCode(i))
		for _, v := range variants {
			v(i)
		}
	}
}

func rangeAppender(begin func(), a array.ListLike, item func(i int)) func(i int) {
	return func(i int) {
		begin()
		start, end := a.ValueOffsets(i)
		for j := start; j < end; j++ {
			item(int(j))
		}
	}
}

// validity is the null bitmap of an array, from its first value on; nil if it has no nulls.
func validity(a arrow.Array) *memory.Buffer {
	if a.NullN() == 0 {
		return nil
	}
	data := a.Data()
	if data.Offset() == 0 {
		return data.Buffers()[0]
	}
	bitmap := make([]byte, bitutil.BytesForBits(int64(a.Len())))
	bitutil.CopyBitmap(data.Buffers()[0].Bytes(), data.Offset(), a.Len(), bitmap, 0)
	return memory.NewBufferBytes(bitmap)
}

// sharing is assemble of buffers and, behind them, a part of a buffer of another array, which lives as long as the new array does.
func sharing(t arrow.DataType, like arrow.Array, part *memory.Buffer, buffers ...*memory.Buffer) arrow.Array {
	defer part.Release()
	return assemble(t, like, append(buffers, part))
}

// assemble makes an array with the nulls of another.
func assemble(t arrow.DataType, like arrow.Array, buffers []*memory.Buffer, children ...arrow.ArrayData) arrow.Array {
	data := array.NewData(t, like.Len(), append([]*memory.Buffer{validity(like)}, buffers...), children, like.NullN(), 0)
	defer data.Release()
	return array.MakeFromData(data)
}
