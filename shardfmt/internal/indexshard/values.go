package indexshard

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// List is a column of lists: Range gives where in Items the items of list i lie.
type List struct {
	*array.LargeList
	Items arrow.Array
}

// NewList takes a column for one of lists; nil if it is none.
func NewList(a arrow.Array) *List {
	l, ok := a.(*array.LargeList)
	if !ok {
		return nil
	}
	return &List{l, l.ListValues()}
}

// Range is where the items of list i lie; it is empty for a null list.
func (l *List) Range(i int) (start, end int) {
	if l.IsNull(i) {
		return 0, 0
	}
	from, to := l.ValueOffsets(i)
	return int(from), int(to)
}

// Member is the member of a struct column that has a name; nil if there is none.
func Member(a arrow.Array, name string) arrow.Array {
	s, ok := a.(*array.Struct)
	if !ok {
		return nil
	}
	i, ok := s.DataType().(*arrow.StructType).FieldIdx(name)
	if !ok {
		return nil
	}
	return s.Field(i)
}
