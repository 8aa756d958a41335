package shardfmt

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/shardcat/shardcat/shardfmt/internal/column"
)

// SelectRows returns the rows of a batch of canonical types (see package arrowtype) whose bits are set in rows, a bitmap as Select of
// filter.Bound returns it: one bit a row, the least significant bit first. Values are copied; dictionaries of coded columns are shared, and
// everything is if all rows are selected. The caller releases the result and keeps its own reference to the batch.
func SelectRows(b arrow.RecordBatch, rows []byte) arrow.RecordBatch {
	n := int64(bitutil.CountSetBits(rows, 0, int(b.NumRows())))
	switch n {
	case 0:
		return b.NewSlice(0, 0)
	case b.NumRows():
		b.Retain()
		return b
	}
	return copied(b, n, func(d arrow.ArrayData) arrow.ArrayData { return column.Select(d, rows) })
}

// TakeRows returns rows of a batch of canonical types, by their numbers, in any order. Values are copied; dictionaries of coded columns are
// shared. The caller releases the result and keeps its own reference to the batch.
func TakeRows(b arrow.RecordBatch, rows []int64) arrow.RecordBatch {
	runs := column.RunsAt(rows)
	return copied(b, int64(len(rows)), func(d arrow.ArrayData) arrow.ArrayData { return column.Take(d, runs) })
}

// copied is a batch of n rows whose columns are made of those of another one.
func copied(b arrow.RecordBatch, n int64, of func(arrow.ArrayData) arrow.ArrayData) arrow.RecordBatch {
	columns := make([]arrow.Array, b.NumCols())
	for i, c := range b.Columns() {
		data := of(c.Data())
		columns[i] = array.MakeFromData(data)
		data.Release()
		defer columns[i].Release() // the batch holds it
	}
	return array.NewRecordBatch(b.Schema(), columns, n)
}
