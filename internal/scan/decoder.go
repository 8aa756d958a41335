package scan

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/shardcat/shardcat/internal/budget"
	"github.com/shardcat/shardcat/internal/buffer"
	"github.com/shardcat/shardcat/internal/field"
	"github.com/shardcat/shardcat/internal/parallel"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// decoder makes arrays of columns, and batches of arrays.
type decoder struct {
	workers int
	types   *arrow.Schema // of what comes out
	filter  *filter.Bound
	needed  *arrow.Schema // of what the filter needs, nil without one
}

func newDecoder(q *Request) *decoder {
	d := &decoder{workers: q.Workers, types: arrowtype.Schema(q.Project), filter: q.Filter}
	if q.Needed != nil {
		d.needed = arrowtype.Schema(q.Needed)
	}
	return d
}

// read decodes columns, several at a time.
func (d *decoder) read(ctx context.Context, columns []field.Column, r buffer.Range) ([]arrow.ArrayData, error) {
	out := make([]arrow.ArrayData, len(columns))
	err := parallel.Each(ctx, d.workers, len(columns), func(i int) (err error) {
		out[i], err = columns[i].Read(r)
		return err
	})
	return out, err
}

// selected applies the filter to the rows of r, and the marker of deleted records, whose column is then the last.
// It gives a bitmap of the rows that are left.
func (d *decoder) selected(ctx context.Context, columns []field.Column, r buffer.Range) ([]byte, error) {
	data, err := d.read(ctx, columns, r)
	if err != nil {
		return nil, err
	}
	n := int(r.Len())
	bitmap := make([]byte, (n+7)/8)
	bitutil.SetBitsTo(bitmap, 0, int64(n), true)
	if d.needed != nil {
		k := d.needed.NumFields()
		selected, _, err := d.filter.Select(record(d.needed, data[:k], n))
		if err != nil {
			return nil, err
		}
		copy(bitmap, selected)
		data = data[k:]
	}
	if len(data) > 0 {
		hideDeleted(bitmap, array.NewBooleanData(data[0]))
	}
	return bitmap, nil
}

// hideDeleted clears the bits of rows that are marked deleted.
func hideDeleted(bitmap []byte, marker *array.Boolean) {
	for i := range marker.Len() {
		if marker.IsValid(i) && marker.Value(i) {
			bitutil.ClearBit(bitmap, i)
		}
	}
}

// batch makes a record batch of the rows of a match that are selected, nil if none is.
func (d *decoder) batch(ctx context.Context, columns []field.Column, m match, mem *budget.Account) (arrow.RecordBatch, error) {
	n := int(m.span.Len())
	some, mine := n, []byte(nil)
	if m.selected != nil {
		mine = make([]byte, (n+7)/8)
		bitutil.CopyBitmap(m.selected, int(m.span.Start-m.rows.Start), n, mine, 0)
		if some = bitutil.CountSetBits(mine, 0, n); some == 0 {
			return nil, nil
		}
	}
	data, err := d.read(ctx, columns, m.span)
	if err != nil {
		return nil, err
	}
	if some == n {
		return record(d.types, data, n), nil
	}
	for i, c := range data {
		if err := mem.Take(field.SizeOf(c) / uint64(n) * uint64(some)); err != nil {
			return nil, err
		}
		data[i] = field.Select(c, mine)
	}
	return record(d.types, data, some), nil
}

// record makes a record batch of columns of n rows.
func record(types *arrow.Schema, columns []arrow.ArrayData, n int) arrow.RecordBatch {
	arrays := make([]arrow.Array, len(columns))
	for i, c := range columns {
		arrays[i] = array.MakeFromData(c)
	}
	return array.NewRecordBatch(types, arrays, int64(n))
}
