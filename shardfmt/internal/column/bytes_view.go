package column

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// byteViews are the byte strings of an array where they lie.
type byteViews struct {
	nulls bool
	// valid has a bit for each value from bit offset on, which is 0 for a null; it is looked at only if nulls.
	valid  []byte
	offset int
	data   []byte
	// ends are where the values end in data, after where the first starts; nil for values of one size, fixed bytes.
	ends  []int64
	fixed int
}

// viewsOf gives the values of an array of a canonical type of byte strings.
func viewsOf(a arrow.Array) byteViews {
	a = storage(a)
	v := byteViews{nulls: a.NullN() > 0, data: []byte{}} // which is not nil, as no empty value is
	if a.Len() == 0 {
		return v
	}
	if v.nulls {
		v.valid, v.offset = a.Data().Buffers()[0].Bytes(), a.Data().Offset()
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
	if v.nulls && v.null(i) {
		return nil
	}
	from, to := v.span(i)
	return v.data[from:to:to]
}

// null reports whether value i is null, where nulls are.
func (v *byteViews) null(i int) bool { return v.valid[(v.offset+i)>>3]>>((v.offset+i)&7)&1 == 0 }

// span is where value i lies in data.
func (v *byteViews) span(i int) (from, to int) {
	if v.ends == nil {
		return i * v.fixed, (i + 1) * v.fixed
	}
	return int(v.ends[i]), int(v.ends[i+1])
}
