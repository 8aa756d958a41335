// Package rowhash writes Arrow values as bytes that are equal exactly if the values are, whatever the arrays they
// lie in: slices, offsets and chunks make no difference. The bytes are for hashing and comparing within a process;
// they are no format.
package rowhash

import (
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// The first byte of a value.
const (
	isNull = iota
	isValue
)

// Append appends value i of a. Bytes of one value are never the beginning of those of another one of its type, so
// values may follow one another. A type that it does not know is an error.
func Append(to []byte, a arrow.Array, i int) ([]byte, error) {
	if ext, ok := a.(array.ExtensionArray); ok {
		return Append(to, ext.Storage(), i)
	}
	if a.IsNull(i) {
		return append(to, isNull), nil
	}
	to = append(to, isValue)
	switch a := a.(type) {
	case *array.Null:
		return to, nil
	case *array.Boolean:
		if a.Value(i) {
			return append(to, 1), nil
		}
		return append(to, 0), nil
	case array.BinaryLike:
		return appendBytes(to, valueOf(a, i)), nil
	case *array.FixedSizeBinary:
		return append(to, a.Value(i)...), nil
	case *array.Struct:
		return appendFields(to, a, i)
	case array.Union:
		to = append(to, byte(a.TypeCode(i)))
		at := i
		if dense, ok := a.(*array.DenseUnion); ok {
			at = int(dense.ValueOffset(i))
		}
		return Append(to, a.Field(a.ChildID(i)), at)
	case array.ListLike:
		return appendList(to, a, i)
	}
	return appendFixed(to, a, i)
}

func valueOf(a array.BinaryLike, i int) []byte {
	switch a := a.(type) {
	case *array.String:
		return []byte(a.Value(i))
	case *array.LargeString:
		return []byte(a.Value(i))
	case *array.Binary:
		return a.Value(i)
	case *array.LargeBinary:
		return a.Value(i)
	}
	return []byte(a.ValueStr(i))
}

func appendBytes(to, b []byte) []byte {
	return append(binary.AppendUvarint(to, uint64(len(b))), b...)
}

func appendFields(to []byte, a *array.Struct, i int) ([]byte, error) {
	var err error
	for f := range a.NumField() {
		if to, err = Append(to, a.Field(f), i); err != nil {
			return nil, err
		}
	}
	return to, nil
}

func appendList(to []byte, a array.ListLike, i int) ([]byte, error) {
	first, end := a.ValueOffsets(i)
	to = binary.AppendUvarint(to, uint64(end-first))
	var err error
	for at := first; at < end; at++ {
		if to, err = Append(to, a.ListValues(), int(at)); err != nil {
			return nil, err
		}
	}
	return to, nil
}

// appendFixed copies the bytes of a value of fixed width.
func appendFixed(to []byte, a arrow.Array, i int) ([]byte, error) {
	b, width, ok := fixedBytes(a)
	if !ok {
		return nil, fmt.Errorf("rowhash: values of type %s", a.DataType())
	}
	at := (a.Data().Offset() + i) * width
	return append(to, b[at:at+width]...), nil
}

// fixedBytes gives the bytes of values of fixed width, those before the array's offset too.
func fixedBytes(a arrow.Array) (b []byte, width int, ok bool) {
	typ, ok := a.DataType().(arrow.FixedWidthDataType)
	if !ok || typ.BitWidth()%8 != 0 || len(a.Data().Buffers()) < 2 || a.Data().Buffers()[1] == nil {
		return nil, 0, false
	}
	return a.Data().Buffers()[1].Bytes(), typ.BitWidth() / 8, true
}
