package rowsort

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Arrow's kernels neither take rows of sparse unions nor put them together. A sparse union lies in memory as a struct
// does, of its variants and the choice among them, so that it is seen as one in here, without a copy.

// variantField is the name of the choice in the struct that stands for a union.
const variantField = "variant"

// storedSchema is a schema with structs in the place of sparse unions.
func storedSchema(s *arrow.Schema) *arrow.Schema {
	fields := s.Fields()
	for i := range fields {
		fields[i].Type = storedType(fields[i].Type)
	}
	return arrow.NewSchema(fields, nil)
}

func storedFields(fields []arrow.Field) []arrow.Field {
	fields = slices.Clone(fields)
	for i := range fields {
		fields[i].Type = storedType(fields[i].Type)
	}
	return fields
}

func storedType(t arrow.DataType) arrow.DataType {
	switch t := t.(type) {
	case *arrow.SparseUnionType:
		choice := arrow.Field{Name: variantField, Type: arrow.PrimitiveTypes.Int8}
		return arrow.StructOf(append([]arrow.Field{choice}, storedFields(t.Fields())...)...)
	case *arrow.StructType:
		return arrow.StructOf(storedFields(t.Fields())...)
	case *arrow.LargeListType:
		return arrow.LargeListOfField(storedFields([]arrow.Field{t.ElemField()})[0])
	case *arrow.FixedSizeListType:
		return arrow.FixedSizeListOfField(t.Len(), storedFields([]arrow.Field{t.ElemField()})[0])
	case *arrow.MapType:
		m := arrow.MapOfFields(storedFields([]arrow.Field{t.KeyField()})[0], storedFields([]arrow.Field{t.ItemField()})[0])
		m.KeysSorted = t.KeysSorted
		return m
	}
	return t
}

// stored is a batch in the types of storedSchema, restored one in its own types again.
func stored(b arrow.RecordBatch, s *arrow.Schema) arrow.RecordBatch { return retyped(b, s, storedData) }

func restored(b arrow.RecordBatch, s *arrow.Schema) arrow.RecordBatch {
	return retyped(b, s, restoredData)
}

func retyped(b arrow.RecordBatch, s *arrow.Schema, data func(arrow.ArrayData, arrow.DataType) arrow.ArrayData) arrow.RecordBatch {
	columns := make([]arrow.Array, b.NumCols())
	for i := range columns {
		columns[i] = b.Column(i)
		if to := s.Field(i).Type; !arrow.TypeEqual(columns[i].DataType(), to) {
			columns[i] = array.MakeFromData(data(columns[i].Data(), to))
		}
	}
	return array.NewRecordBatch(s, columns, b.NumRows())
}

// storedData sees an array's data in the type that storedType gave.
func storedData(d arrow.ArrayData, to arrow.DataType) arrow.ArrayData {
	if _, ok := d.DataType().(*arrow.SparseUnionType); !ok {
		return sameShape(d, to, storedData)
	}
	children := []arrow.ArrayData{array.NewData(arrow.PrimitiveTypes.Int8, d.Len()+d.Offset(), []*memory.Buffer{nil, d.Buffers()[1]}, nil, 0, 0)}
	for i, child := range d.Children() {
		children = append(children, storedData(child, to.(*arrow.StructType).Field(i+1).Type))
	}
	return array.NewData(to, d.Len(), []*memory.Buffer{nil}, children, 0, d.Offset())
}

// restoredData is the way back.
func restoredData(d arrow.ArrayData, to arrow.DataType) arrow.ArrayData {
	union, ok := to.(*arrow.SparseUnionType)
	if !ok {
		return sameShape(d, to, restoredData)
	}
	// The choice may begin elsewhere than its siblings: all of them are cut to the rows that are meant.
	s := array.NewStructData(d)
	choice := s.Field(0).(*array.Int8)
	buffer := memory.SliceBuffer(choice.Data().Buffers()[1], choice.Data().Offset(), choice.Len()) // which holds on to the whole
	var children []arrow.ArrayData
	for i, f := range union.Fields() {
		children = append(children, restoredData(s.Field(i+1).Data(), f.Type))
	}
	return array.NewData(to, d.Len(), []*memory.Buffer{nil, buffer}, children, 0, 0)
}

// sameShape goes on below types that only hold others.
func sameShape(d arrow.ArrayData, to arrow.DataType, below func(arrow.ArrayData, arrow.DataType) arrow.ArrayData) arrow.ArrayData {
	if arrow.TypeEqual(d.DataType(), to) {
		return d
	}
	var children []arrow.ArrayData
	for i, child := range d.Children() {
		children = append(children, below(child, childType(to, i)))
	}
	return array.NewData(to, d.Len(), d.Buffers(), children, d.NullN(), d.Offset())
}

// childType is the type of a child's data.
func childType(t arrow.DataType, i int) arrow.DataType {
	switch t := t.(type) {
	case *arrow.StructType:
		return t.Field(i).Type
	case *arrow.MapType:
		return t.Elem() // the struct of keys and items
	case arrow.ListLikeType:
		return t.Elem()
	}
	panic("rowsort: " + t.String() + " has no children")
}

// emptyColumns are columns of no rows.
func emptyColumns(s *arrow.Schema) []arrow.Array {
	var out []arrow.Array
	for _, f := range s.Fields() {
		out = append(out, array.MakeArrayOfNull(memory.DefaultAllocator, f.Type, 0))
	}
	return out
}
