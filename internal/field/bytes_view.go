package field

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// byteViews are the byte strings of an array where they lie.
type byteViews struct {
	array arrow.Array
	nulls bool
	data  []byte
	// ends are where the values end in data, after where the first starts; nil for values of one size, fixed bytes.
	ends  []int64
	fixed int
}

// viewsOf gives the values of an array of a canonical type of byte strings.
func viewsOf(a arrow.Array) byteViews {
	a = storage(a)
	v := byteViews{array: a, nulls: a.NullN() > 0, data: []byte{}} // which is not nil, as no empty value is
	if a.Len() == 0 {
		return v
	}
	if t, ok := a.DataType().(*arrow.FixedSizeBinaryType); ok {
		v.fixed = t.ByteWidth
		if b := a.Data().Buffers()[1]; b != nil {
			v.data = b.Bytes()[a.Data().Offset()*v.fixed:]
		}
		return v
	}
	switch s := a.(type) {
	case *array.LargeString:
		v.ends = s.ValueOffsets()
	case *array.LargeBinary:
		v.ends = s.ValueOffsets()
	}
	if b := a.Data().Buffers()[2]; b != nil && b.Len() > 0 {
		v.data = b.Bytes()
	}
	return v
}

// at is value i, nil for a null; what is empty is not nil.
func (v *byteViews) at(i int) []byte {
	switch {
	case v.nulls && v.array.IsNull(i):
		return nil
	case v.ends == nil:
		return v.data[i*v.fixed : (i+1)*v.fixed : (i+1)*v.fixed]
	}
	return v.data[v.ends[i]:v.ends[i+1]:v.ends[i+1]]
}
