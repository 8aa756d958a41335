package column

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
)

// nulls makes an array of n nulls of a canonical type.
func nulls(typ arrow.DataType, n int) arrow.ArrayData {
	bitmap := memory.NewBufferBytes(make([]byte, (n+7)/8))
	make1 := func(size int, children ...arrow.ArrayData) arrow.ArrayData {
		return array.NewData(typ, n, []*memory.Buffer{bitmap, memory.NewBufferBytes(make([]byte, size))}, children, n, 0)
	}
	switch t := typ.(type) {
	case *arrow.NullType:
		return array.NewData(typ, n, []*memory.Buffer{nil}, nil, n, 0)
	case arrow.ExtensionType:
		s := nulls(t.StorageType(), n)
		return array.NewData(typ, n, s.Buffers(), s.Children(), n, 0)
	case *arrow.StructType:
		children := make([]arrow.ArrayData, t.NumFields())
		for i := range children {
			children[i] = nulls(t.Field(i).Type, n)
		}
		return array.NewData(typ, n, []*memory.Buffer{bitmap}, children, n, 0)
	case *arrow.FixedSizeListType:
		child := nulls(t.Elem(), n*int(t.Len()))
		return array.NewData(typ, n, []*memory.Buffer{bitmap}, []arrow.ArrayData{child}, n, 0)
	case *arrow.SparseUnionType:
		children := make([]arrow.ArrayData, t.NumFields())
		for i := range children {
			children[i] = nulls(t.Fields()[i].Type, n)
		}
		return array.NewData(typ, n, []*memory.Buffer{nil, memory.NewBufferBytes(make([]byte, n))}, children, 0, 0)
	case *arrow.LargeListType:
		return make1(8*(n+1), nulls(t.Elem(), 0))
	case *arrow.MapType:
		return make1(4*(n+1), nulls(t.Elem(), 0))
	case *arrow.LargeStringType, *arrow.LargeBinaryType:
		return array.NewData(typ, n, []*memory.Buffer{bitmap, memory.NewBufferBytes(make([]byte, 8*(n+1))), nil}, nil, n, 0)
	case arrow.FixedWidthDataType:
		return make1((t.BitWidth()*n + 7) / 8)
	}
	return make1(0)
}

// sizeOfNulls is how many bytes nulls takes at most, the greatest number where that is more.
func sizeOfNulls(typ arrow.DataType, n uint64) uint64 {
	sum := n/8 + 1
	add := func(m uint64) { sum += min(m, math.MaxUint64-sum) }
	each := func(bytes uint64) {
		m, ok := multiply(n, bytes)
		if !ok {
			m = math.MaxUint64
		}
		add(m)
	}
	switch t := typ.(type) {
	case arrow.ExtensionType:
		return sizeOfNulls(t.StorageType(), n)
	case *arrow.FixedSizeListType:
		m, ok := multiply(n, uint64(t.Len()))
		if !ok {
			return math.MaxUint64
		}
		add(sizeOfNulls(t.Elem(), m))
	case *arrow.StructType:
		for _, f := range t.Fields() {
			add(sizeOfNulls(f.Type, n))
		}
	case *arrow.SparseUnionType:
		each(1)
		for _, f := range t.Fields() {
			add(sizeOfNulls(f.Type, n))
		}
	case *arrow.LargeListType, *arrow.LargeStringType, *arrow.LargeBinaryType, *arrow.MapType:
		each(8)
	case arrow.FixedWidthDataType:
		each(uint64(t.BitWidth()+7) / 8)
	}
	return sum
}

// SizeOf is the number of bytes of an array's buffers, of the whole of them.
func SizeOf(d arrow.ArrayData) (n uint64) {
	for _, b := range d.Buffers() {
		if b != nil {
			n += uint64(b.Len())
		}
	}
	for _, c := range d.Children() {
		n += SizeOf(c)
	}
	return n
}

// nullColumn is a field of which a stripe stores nothing: as many nulls as are requested.
type nullColumn struct {
	typ arrow.DataType
	mem *budget.Account
}

func (c *nullColumn) Need([]colstream.Range, bool) ([]colstream.Request, error) { return nil, nil }

func (c *nullColumn) Read(r colstream.Range) (arrow.ArrayData, error) {
	if r.Len() > maxRead {
		return nil, ErrTooLarge
	}
	if err := c.mem.Take(sizeOfNulls(c.typ, r.Len())); err != nil {
		return nil, err
	}
	return nulls(c.typ, int(r.Len())), nil
}

func (c *nullColumn) Release(uint64) {}
func (c *nullColumn) Size() uint64   { return 0 }

// shortColumn has fewer positions than its parent requests; those behind the last one are null.
type shortColumn struct {
	Column
	typ  arrow.DataType
	have uint64
	mem  *budget.Account
}

func (c *shortColumn) Need(ranges []colstream.Range, whole bool) ([]colstream.Request, error) {
	var in []colstream.Range
	for _, r := range ranges {
		if r.Start < c.have {
			in = append(in, colstream.Range{Start: r.Start, End: min(r.End, c.have)})
		}
	}
	return c.Column.Need(in, whole)
}

func (c *shortColumn) Read(r colstream.Range) (arrow.ArrayData, error) {
	if r.End <= c.have {
		return c.Column.Read(r)
	}
	have := max(r.Start, c.have)
	if r.End-have > maxRead {
		return nil, ErrTooLarge
	}
	if err := c.mem.Take(sizeOfNulls(c.typ, r.End-have)); err != nil {
		return nil, err
	}
	missing := nulls(c.typ, int(r.End-have))
	if have == r.Start {
		return missing, nil
	}
	stored, err := c.Column.Read(colstream.Range{Start: r.Start, End: have})
	if err != nil {
		return nil, err
	}
	if err := c.mem.Take(SizeOf(stored) + SizeOf(missing)); err != nil {
		return nil, err
	}
	all, err := array.Concatenate([]arrow.Array{array.MakeFromData(stored), array.MakeFromData(missing)}, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	return all.Data(), nil
}
