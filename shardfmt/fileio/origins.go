package fileio

import (
	"fmt"
	"sort"
)

// origins remembers which input the rows that a source has given are of.
type origins struct {
	starts []origin
	rows   int64
}

// origin is the first row of an input.
type origin struct {
	row   int64
	input string
}

// note records that the next rows are of an input.
func (o *origins) note(input string, rows int64) {
	if n := len(o.starts); n == 0 || o.starts[n-1].input != input {
		o.starts = append(o.starts, origin{o.rows, input})
	}
	o.rows += rows
}

// inputOf is the input of a row, by its number from 0 on.
func (o *origins) inputOf(row int64) string {
	i := sort.Search(len(o.starts), func(i int) bool { return o.starts[i].row > row })
	if i == 0 {
		return ""
	}
	return o.starts[i-1].input
}

// RowName names a row, by its number from 0 on over all that the source has given: its input, and which record of that it is; empty
// for a row that was not given.
func (o *origins) RowName(row int64) string {
	i := sort.Search(len(o.starts), func(i int) bool { return o.starts[i].row > row })
	if i == 0 || row >= o.rows {
		return ""
	}
	return fmt.Sprintf("%s: record %d", o.starts[i-1].input, row-o.starts[i-1].row+1)
}
