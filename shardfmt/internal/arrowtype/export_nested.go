package arrowtype

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// nested converts a nested canonical array to the same shape with other leaves, and lists to 32-bit offsets.
func (x *exporting) nested(a arrow.Array, t arrow.DataType, p place) (arrow.Array, error) {
	switch a := a.(type) {
	case *array.Struct:
		return x.structs(a, t, p)
	case *array.SparseUnion:
		return x.unions(a, t, p)
	case *array.Map:
		if _, ok := t.(*arrow.MapType); ok {
			return x.maps(a, t, p)
		}
	case array.ListLike:
		if l, ok := t.(arrow.ListLikeType); ok {
			return x.lists(a, l, p)
		}
	}
	return nil, noWay(a, t, p)
}

func (x *exporting) structs(a *array.Struct, t arrow.DataType, p place) (arrow.Array, error) {
	if out := intervals(a, t); out != nil {
		return out, nil
	}
	s, ok := t.(*arrow.StructType)
	if !ok || s.NumFields() != a.NumField() {
		return nil, noWay(a, t, p)
	}
	children := make([]arrow.ArrayData, a.NumField())
	for i := range children {
		c, err := x.array(a.Field(i), s.Field(i).Type, p.child(i, sameRow))
		if err != nil {
			return nil, err
		}
		defer c.Release()
		children[i] = c.Data()
	}
	return assemble(t, a, nil, children...), nil
}

// intervals puts calendar intervals together from their parts; nil if t is none.
func intervals(a *array.Struct, t arrow.DataType) arrow.Array {
	part := func(f, i int) int32 { return a.Field(f).(*array.Int32).Value(i) }
	switch t.ID() {
	case arrow.INTERVAL_DAY_TIME:
		out, _ := fill(t, a, arrow.DayTimeIntervalTraits.CastToBytes, func(i int) (arrow.DayTimeInterval, error) {
			return arrow.DayTimeInterval{Days: part(0, i), Milliseconds: part(1, i)}, nil
		})
		return out
	case arrow.INTERVAL_MONTH_DAY_NANO:
		nanos := a.Field(2).(*array.Int64)
		out, _ := fill(t, a, arrow.MonthDayNanoIntervalTraits.CastToBytes, func(i int) (arrow.MonthDayNanoInterval, error) {
			return arrow.MonthDayNanoInterval{Months: part(0, i), Days: part(1, i), Nanoseconds: nanos.Value(i)}, nil
		})
		return out
	}
	return nil
}

func (x *exporting) unions(a *array.SparseUnion, t arrow.DataType, p place) (arrow.Array, error) {
	u, ok := t.(*arrow.SparseUnionType)
	if !ok || len(u.Fields()) != a.NumFields() {
		return nil, noWay(a, t, p)
	}
	codes := make([]int8, a.Len())
	for i := range codes {
		codes[i] = u.TypeCodes()[a.ChildID(i)]
	}
	children := make([]arrow.ArrayData, a.NumFields())
	for i := range children {
		c, err := x.array(a.Field(i), u.Fields()[i].Type, p.child(i, sameRow))
		if err != nil {
			return nil, err
		}
		defer c.Release()
		children[i] = c.Data()
	}
	types := memory.NewBufferBytes(arrow.Int8Traits.CastToBytes(codes))
	data := array.NewData(t, a.Len(), []*memory.Buffer{nil, types}, children, 0, 0)
	defer data.Release()
	return array.MakeFromData(data), nil
}

func (x *exporting) maps(a *array.Map, t arrow.DataType, p place) (arrow.Array, error) {
	offsets, items := itemsOf(a)
	defer items.Release()
	m := t.(*arrow.MapType)
	entries := items.(*array.Struct)
	children := make([]arrow.ArrayData, 2)
	for i, f := range []arrow.Field{m.KeyField(), m.ItemField()} {
		c, err := x.array(entries.Field(i), f.Type, p.child(i, itemRow(offsets[1:])))
		if err != nil {
			return nil, err
		}
		defer c.Release()
		children[i] = c.Data()
	}
	pairs := array.NewData(m.Elem(), entries.Len(), []*memory.Buffer{nil}, children, 0, 0)
	defer pairs.Release()
	return assemble(t, a, []*memory.Buffer{smallOffsets(offsets)}, pairs), nil
}

func smallOffsets(offsets []int64) *memory.Buffer {
	small := make([]int32, len(offsets))
	for i, at := range offsets {
		small[i] = int32(at)
	}
	return memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(small))
}

func (x *exporting) lists(a array.ListLike, t arrow.ListLikeType, p place) (arrow.Array, error) {
	if f, ok := a.(*array.FixedSizeList); ok && t.ID() == arrow.FIXED_SIZE_LIST {
		return x.fixedLists(f, t, p)
	}
	offsets, items := itemsOf(a)
	defer items.Release()
	c, err := x.array(items, t.Elem(), p.child(0, itemRow(offsets[1:])))
	if err != nil {
		return nil, err
	}
	defer c.Release()
	switch t.ID() {
	case arrow.LARGE_LIST:
		return assemble(t, a, []*memory.Buffer{memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(offsets))}, c.Data()), nil
	case arrow.LIST:
		if offsets[a.Len()] <= math.MaxInt32 {
			return assemble(t, a, []*memory.Buffer{smallOffsets(offsets)}, c.Data()), nil
		}
	}
	return nil, noWay(a, t, p)
}

func (x *exporting) fixedLists(a *array.FixedSizeList, t arrow.ListLikeType, p place) (arrow.Array, error) {
	size := int64(p.n.FixedSize)
	first := int64(0)
	if a.Len() > 0 {
		first, _ = a.ValueOffsets(0)
	}
	items := array.NewSlice(a.ListValues(), first, first+size*int64(a.Len()))
	defer items.Release()
	c, err := x.array(items, t.Elem(), p.child(0, func(j int) int { return j / int(size) }))
	if err != nil {
		return nil, err
	}
	defer c.Release()
	return assemble(t, a, nil, c.Data()), nil
}
