package filter

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// nulls are the rows in which a field is null: where one of some arrays is, or the entry of a dictionary that a row names.
type nulls struct {
	all   bool
	of    []arrow.Array
	coded *array.Dictionary
}

// any reports whether a row may be null.
func (n nulls) any() bool { return n.all || len(n.of) > 0 || n.coded != nil }

// bitmap is where the rows that are not null have their bits, the first one's first, if one bitmap reports about all.
func (n nulls) bitmap() (valid []byte, from int, ok bool) {
	if n.all || n.coded != nil || len(n.of) != 1 {
		return nil, 0, false
	}
	valid = n.of[0].NullBitmapBytes()
	return valid, n.of[0].Data().Offset(), len(valid) > 0
}

// bits has a bit for each of count rows, at most 64, from one on: set where it is null.
func (n nulls) bits(from, count int) (null uint64) {
	if n.all {
		return ^uint64(0)
	}
	for _, a := range n.of {
		if valid := a.NullBitmapBytes(); len(valid) > 0 {
			null |= ^simd.BitsAt(valid, a.Data().Offset()+from, count)
			continue
		}
		for i := range count { // types whose slots are null by other means
			if a.IsNull(from + i) {
				null |= 1 << i
			}
		}
	}
	if n.coded == nil {
		return null
	}
	for i := range count {
		if n.coded.IsValid(from+i) && n.coded.Dictionary().IsNull(n.coded.GetValueIndex(from+i)) {
			null |= 1 << i
		}
	}
	return null
}
