package filter

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// nulls are the rows in which a field is null: where one of some arrays is, or the entry of a dictionary that a row names.
type nulls struct {
	all   bool
	of    []arrow.Array
	coded *array.Dictionary
}

// set writes a truth for each row that is null.
func (n nulls) set(out []truth, to truth) {
	if n.all {
		for i := range out {
			out[i] = to
		}
	}
	for _, a := range n.of {
		setNulls(a, out, to)
	}
	if n.coded == nil {
		return
	}
	for i := range out {
		if n.coded.IsValid(i) && n.coded.Dictionary().IsNull(n.coded.GetValueIndex(i)) {
			out[i] = to
		}
	}
}

// setNulls writes a truth for each null slot of an array.
func setNulls(a arrow.Array, out []truth, to truth) {
	valid := a.NullBitmapBytes()
	if len(valid) == 0 { // as with types whose slots are null by other means
		for i := range out {
			if a.IsNull(i) {
				out[i] = to
			}
		}
		return
	}
	offset := a.Data().Offset()
	for i := 0; i < len(out); i++ {
		at := offset + i
		if at%8 == 0 && valid[at/8] == 0xff { // eight values that are there
			i += 7
			continue
		}
		if valid[at/8]>>(at%8)&1 == 0 {
			out[i] = to
		}
	}
}
