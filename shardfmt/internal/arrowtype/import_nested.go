package arrowtype

import (
	"math"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// nested converts an array, its extension type taken off, to the canonical type of a nested node.
func (im *importing) nested(a arrow.Array, p place) (arrow.Array, error) {
	switch p.n.Basic {
	case schema.Struct:
		return im.structs(a, p)
	case schema.Union:
		if u, ok := a.(array.Union); ok && len(p.n.Children) == u.NumFields() {
			return im.unions(u, p)
		}
		return nil, p.mismatch(a)
	}
	l, ok := a.(array.ListLike)
	if !ok {
		return nil, p.mismatch(a)
	}
	switch p.n.Basic {
	case schema.FixedSizeList:
		return im.fixedLists(l, p)
	case schema.Map:
		return im.maps(l, p)
	}
	return im.lists(l, p)
}

// structs matches members by name; intervals are structs of their parts.
func (im *importing) structs(a arrow.Array, p place) (arrow.Array, error) {
	a = intervalParts(a)
	s, ok := a.(*array.Struct)
	if !ok {
		return nil, p.mismatch(a)
	}
	t := s.DataType().(*arrow.StructType)
	used := 0
	children := make([]arrow.ArrayData, len(p.n.Children))
	for i, n := range p.n.Children {
		child := p.child(i, sameRow)
		at, has := t.FieldIdx(n.Name)
		if !has {
			filler := nulls(Type(n), s.Len())
			defer filler.Release()
			if !n.Nullable && s.Len() > s.NullN() {
				return nil, p.mismatch(a)
			}
			children[i] = filler.Data()
			continue
		}
		used++
		child.hidden = hiding(s, p.hidden)
		c, err := im.array(s.Field(at), child)
		if err != nil {
			return nil, err
		}
		defer c.Release()
		children[i] = c.Data()
	}
	if used < t.NumFields() && !im.DropUnknown {
		return nil, p.mismatch(a)
	}
	return assemble(Type(p.n), s, nil, children...), nil
}

// itemRow finds the list that item j belongs to, given the end of each list.
func itemRow(ends []int64) func(j int) int {
	return func(j int) int {
		return sort.Search(len(ends), func(i int) bool { return ends[i] > int64(j) })
	}
}

// itemsOf brings the items of lists into one dense array: the offsets of the lists in it, and the items.
func itemsOf(l array.ListLike) (offsets []int64, items arrow.Array) {
	n := l.Len()
	offsets = make([]int64, n+1)
	dense := true
	var first, last int64
	for i := range n {
		offsets[i+1] = offsets[i]
		start, end := l.ValueOffsets(i)
		if l.IsNull(i) || start == end {
			continue
		}
		if offsets[i] == 0 {
			first, last = start, start
		}
		dense = dense && start == last
		last = end
		offsets[i+1] += end - start
	}
	if dense {
		return offsets, array.NewSlice(l.ListValues(), first, first+offsets[n])
	}
	return offsets, gather(l, offsets[n])
}

// gather copies the items of lists that overlap or leave gaps, as views do and null lists may.
func gather(l array.ListLike, total int64) arrow.Array {
	var pieces []arrow.Array
	for i := range l.Len() {
		if start, end := l.ValueOffsets(i); l.IsValid(i) && end > start {
			pieces = append(pieces, array.NewSlice(l.ListValues(), start, end))
		}
	}
	if len(pieces) == 0 {
		return array.NewSlice(l.ListValues(), 0, 0)
	}
	all, err := array.Concatenate(pieces, memory.DefaultAllocator)
	if err != nil {
		panic(err) // pieces of one array have one type
	}
	return all
}

func (im *importing) lists(l array.ListLike, p place) (arrow.Array, error) {
	offsets, items := itemsOf(l)
	defer items.Release()
	c, err := im.array(items, p.child(0, itemRow(offsets[1:])))
	if err != nil {
		return nil, err
	}
	defer c.Release()
	return assemble(Type(p.n), l, []*memory.Buffer{memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(offsets))}, c.Data()), nil
}

func (im *importing) maps(l array.ListLike, p place) (arrow.Array, error) {
	offsets, items := itemsOf(l)
	defer items.Release()
	entries, ok := items.(*array.Struct)
	if !ok || entries.NumField() != 2 || offsets[l.Len()] > math.MaxInt32 {
		return nil, p.mismatch(l)
	}
	small := make([]int32, len(offsets))
	for i, at := range offsets {
		small[i] = int32(at)
	}
	t := Type(p.n).(*arrow.MapType)
	children := make([]arrow.ArrayData, 2)
	for i := range children {
		child := p.child(i, itemRow(offsets[1:]))
		n := *child.n
		n.Nullable = n.Nullable && i == 1 // Arrow's maps have no null keys
		child.n = &n
		c, err := im.array(entries.Field(i), child)
		if err != nil {
			return nil, err
		}
		defer c.Release()
		children[i] = c.Data()
	}
	pairs := array.NewData(t.Elem(), entries.Len(), []*memory.Buffer{nil}, children, 0, 0)
	defer pairs.Release()
	return assemble(t, l, []*memory.Buffer{memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(small))}, pairs), nil
}

// fixedLists takes lists whose lengths are right. Null lists have null items.
func (im *importing) fixedLists(l array.ListLike, p place) (arrow.Array, error) {
	size := int64(p.n.FixedSize)
	for i := range l.Len() {
		if start, end := l.ValueOffsets(i); l.IsValid(i) && end-start != size {
			return nil, p.refuse(i, "%s, expected %d", plural.Count(end-start, "element"), size)
		}
	}
	offsets, items := itemsOf(l)
	defer items.Release()
	c, err := im.array(items, p.child(0, itemRow(offsets[1:])))
	if err != nil {
		return nil, err
	}
	defer c.Release()
	if l.NullN() > 0 {
		spaced := expand(c, l.Len()*int(size), func(j int) int {
			if l.IsNull(j / int(size)) {
				return -1
			}
			return int(offsets[j/int(size)]) + j%int(size)
		})
		defer spaced.Release()
		c = spaced
	}
	return assemble(Type(p.n), l, nil, c.Data()), nil
}

// unions takes dense and sparse unions; variants keep their order and lose their codes.
func (im *importing) unions(u array.Union, p place) (arrow.Array, error) {
	codes := make([]int8, u.Len())
	for i := range codes {
		codes[i] = int8(u.ChildID(i))
	}
	dense, _ := u.(*array.DenseUnion)
	children := make([]arrow.ArrayData, u.NumFields())
	for v := range children {
		child := p.child(v, sameRow)
		if dense != nil {
			child.row = denseRow(dense, v, p)
		}
		n := *child.n
		n.Nullable = true // a variant is null where another one is chosen
		child.n = &n
		c, err := im.array(u.Field(v), child)
		if err != nil {
			return nil, err
		}
		if dense != nil {
			sparse := expand(c, u.Len(), func(i int) int {
				if dense.ChildID(i) != v {
					return -1
				}
				return int(dense.ValueOffset(i))
			})
			c.Release()
			c = sparse
		}
		defer c.Release()
		children[v] = c.Data()
	}
	types := memory.NewBufferBytes(arrow.Int8Traits.CastToBytes(codes))
	data := array.NewData(Type(p.n), u.Len(), []*memory.Buffer{nil, types}, children, 0, 0)
	defer data.Release()
	return array.MakeFromData(data), nil
}

// denseRow finds the row of a value of a variant.
func denseRow(u *array.DenseUnion, variant int, p place) func(i int) int {
	return func(v int) int {
		for i := range u.Len() {
			if u.ChildID(i) == variant && int(u.ValueOffset(i)) == v {
				return p.row(i)
			}
		}
		return 0
	}
}

// intervalParts turns calendar intervals into structs of their parts, and leaves anything else.
func intervalParts(a arrow.Array) arrow.Array {
	var names []string
	var part func(i, field int) int64
	switch v := a.(type) {
	case *array.DayTimeInterval:
		names = []string{"days", "milliseconds"}
		part = func(i, field int) int64 {
			return [...]int64{int64(v.Value(i).Days), int64(v.Value(i).Milliseconds)}[field]
		}
	case *array.MonthDayNanoInterval:
		names = []string{"months", "days", "nanoseconds"}
		part = func(i, field int) int64 {
			d := v.Value(i)
			return [...]int64{int64(d.Months), int64(d.Days), d.Nanoseconds}[field]
		}
	default:
		return a
	}
	var fields []arrow.Field
	var children []arrow.ArrayData
	for f, name := range names {
		c, _ := fill(arrow.PrimitiveTypes.Int64, a, arrow.Int64Traits.CastToBytes, func(i int) (int64, error) { return part(i, f), nil })
		fields = append(fields, arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64, Nullable: true})
		children = append(children, c.Data())
	}
	return assemble(arrow.StructOf(fields...), a, nil, children...)
}

// hiding adds to what is hidden what is null in an array.
func hiding(a arrow.Array, hidden func(i int) bool) func(i int) bool {
	switch {
	case a.NullN() == 0:
		return hidden
	case hidden == nil:
		return a.IsNull
	}
	return func(i int) bool { return a.IsNull(i) || hidden(i) }
}
