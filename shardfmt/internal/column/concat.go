package column

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// concatenate puts arrays of one canonical type one behind the other. Arrow's own function knows no unions, so what holds one is
// put together level by level.
func concatenate(runs []arrow.Array) (arrow.ArrayData, error) {
	typ := runs[0].DataType()
	if !holdsUnion(typ) {
		all, err := array.Concatenate(runs, memory.DefaultAllocator)
		if err != nil {
			return nil, err
		}
		return all.Data(), nil
	}
	n := 0
	for _, r := range runs {
		n += r.Len()
	}
	valid, nulls := joinValid(runs)
	var buffers []*memory.Buffer
	var children []arrow.ArrayData
	var err error
	switch typ := typ.(type) {
	case *arrow.SparseUnionType:
		var codes []byte
		for _, r := range runs {
			d := r.Data()
			codes = append(codes, d.Buffers()[1].Bytes()[d.Offset():d.Offset()+d.Len()]...)
		}
		buffers, nulls = []*memory.Buffer{nil, memory.NewBufferBytes(codes)}, 0
		children, err = joinMembers(runs, typ.NumFields(), func(r arrow.Array, i int) arrow.Array { return r.(*array.SparseUnion).Field(i) })
	case *arrow.StructType:
		buffers = []*memory.Buffer{valid}
		children, err = joinMembers(runs, typ.NumFields(), func(r arrow.Array, i int) arrow.Array { return r.(*array.Struct).Field(i) })
	case *arrow.FixedSizeListType:
		buffers = []*memory.Buffer{valid}
		children, _, err = joinElements(runs)
	case *arrow.MapType:
		var offsets []int64
		if children, offsets, err = joinElements(runs); err != nil {
			return nil, err
		}
		small := make([]int32, len(offsets))
		for i, at := range offsets {
			small[i] = int32(at)
		}
		buffers = []*memory.Buffer{valid, bufferOf(small)}
	default: // *arrow.LargeListType
		var offsets []int64
		children, offsets, err = joinElements(runs)
		buffers = []*memory.Buffer{valid, bufferOf(offsets)}
	}
	if err != nil {
		return nil, err
	}
	return array.NewData(typ, n, buffers, children, nulls, 0), nil
}

// holdsUnion reports whether a canonical type is a union or holds one.
func holdsUnion(t arrow.DataType) bool {
	nested, ok := t.(arrow.NestedType)
	if !ok {
		return false
	}
	if t.ID() == arrow.SPARSE_UNION {
		return true
	}
	for _, f := range nested.Fields() {
		if holdsUnion(f.Type) {
			return true
		}
	}
	return false
}

// joinValid is the bitmap of arrays one behind the other, nil if nothing is null.
func joinValid(runs []arrow.Array) (*memory.Buffer, int) {
	var valid bitmap
	n, nulls := 0, 0
	for _, r := range runs {
		for i := range r.Len() {
			valid.set(r.IsValid(i), n)
			if r.IsNull(i) {
				nulls++
			}
			n++
		}
	}
	if nulls == 0 {
		return nil, 0
	}
	return memory.NewBufferBytes(valid.bytes()), nulls
}

// joinMembers concatenates each of the members of unions or structs.
func joinMembers(runs []arrow.Array, members int, member func(r arrow.Array, i int) arrow.Array) ([]arrow.ArrayData, error) {
	out := make([]arrow.ArrayData, members)
	for i := range out {
		parts := make([]arrow.Array, len(runs))
		for j, r := range runs {
			parts[j] = member(r, i)
		}
		var err error
		if out[i], err = concatenate(parts); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// joinElements concatenates the elements of lists, and gives the offsets of the lists in them.
func joinElements(runs []arrow.Array) ([]arrow.ArrayData, []int64, error) {
	offsets, end := []int64{0}, int64(0)
	parts := make([]arrow.Array, len(runs))
	for i, r := range runs {
		list := r.(array.ListLike)
		first, last := int64(0), int64(0)
		for j := range list.Len() {
			from, to := list.ValueOffsets(j)
			if j == 0 {
				first = from
			}
			last = to
			offsets = append(offsets, end+to-first)
		}
		end += last - first
		parts[i] = array.NewSlice(list.ListValues(), first, last)
	}
	all, err := concatenate(parts)
	return []arrow.ArrayData{all}, offsets, err
}
