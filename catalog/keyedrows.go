package catalog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/catalog/internal/projection"
	"github.com/shardcat/shardcat/catalog/internal/rowkey"
	"github.com/shardcat/shardcat/catalog/internal/rowsort"
	"github.com/shardcat/shardcat/internal/extsort"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
)

// rowNamer is a RecordSource that can report where a row comes from.
type rowNamer interface {
	// RowName names a row, by its number from 0 on over all that the source has given, by its file and place there.
	RowName(row int64) string
}

// keyedRows are the rows of a source, whose keys are looked at before the first of them is written: they are kept in memory as far as
// there is space, then in temporary files.
type keyedRows struct {
	table  *Table
	key    *rowkey.Key
	source RecordSource
	// unique refuses rows of one key; else the last one counts.
	unique bool

	rows *rowsort.Sorter // without keys: in the order in which they came
	keys rowkey.List
	n    int64
	// superseded are the rows that a later one of their key takes the place of, a bit for each.
	superseded []byte
	dropped    int64
}

// deliveryMemory is how many bytes of keys are held while they are sorted, spoolMemory how many of rows.
const (
	deliveryMemory = 64 << 20
	spoolMemory    = 32 << 20
)

// gather reads the source to its end.
func (t *Table) gather(ctx context.Context, src RecordSource, project *projection.Projection, key *rowkey.Key, unique bool) (_ *keyedRows, err error) {
	d := &keyedRows{table: t, key: key, source: src, unique: unique}
	types := arrowtype.Schema(t.schema.Shard)
	if d.rows, err = rowsort.New(types, nil, rowsort.Options{Memory: spoolMemory}); err != nil {
		return nil, err
	}
	sorter := extsort.New(deliveryMemory)
	err = d.read(ctx, project, types, sorter)
	if err == nil {
		err = d.distinct(sorter)
	}
	if err = errors.Join(err, sorter.Close()); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// close removes temporary files.
func (d *keyedRows) close() error {
	err := d.keys.Close()
	if d.rows != nil {
		err = errors.Join(err, d.rows.Close())
	}
	return err
}

// read keeps the rows, and sorts their keys.
func (d *keyedRows) read(ctx context.Context, project *projection.Projection, types *arrow.Schema, sorter *extsort.Sorter) error {
	for {
		b, err := d.source.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if b, err = project.Apply(b, types); err != nil {
			return err
		}
		if err := d.addKeys(b, sorter); err != nil {
			return err
		}
		if err := d.rows.Add(ctx, b); err != nil {
			return err
		}
	}
}

// addKeys sorts the keys of a batch.
func (d *keyedRows) addKeys(b arrow.RecordBatch, sorter *extsort.Sorter) error {
	r, err := d.key.Reader(b)
	if err != nil {
		return err
	}
	var key []byte
	var number [8]byte
	for i := range int(b.NumRows()) {
		bytes, null := r.Append(key[:0], i)
		if key = bytes; null != nil {
			return fmt.Errorf("%w: %s has no key: %s is null", manifest.ErrSchema, d.rowName(d.n), null.Name)
		}
		binary.BigEndian.PutUint64(number[:], uint64(d.n))
		if err := sorter.Add(key, number[:]); err != nil {
			return err
		}
		d.n++
	}
	return nil
}

// rowName names a row of the delivery.
func (d *keyedRows) rowName(row int64) string {
	if n, ok := d.source.(rowNamer); ok {
		if name := n.RowName(row); name != "" {
			return name
		}
	}
	return fmt.Sprintf("row %d of the input", row+1)
}

// distinct lists each key once, by its last row.
func (d *keyedRows) distinct(sorter *extsort.Sorter) error {
	d.superseded = make([]byte, (d.n+7)/8)
	var last []byte
	row := int64(-1)
	for r, err := range sorter.Sorted() {
		if err != nil {
			return err
		}
		n := int64(binary.BigEndian.Uint64(r.Value))
		switch same := row >= 0 && string(r.Key) == string(last); {
		case same && d.unique:
			return fmt.Errorf("%w: %s has the key of %s: %s", ErrExists, d.rowName(n), d.rowName(row), d.key.Text(last))
		case same:
			d.superseded[row/8] |= 1 << (row % 8)
			d.dropped++
		case row >= 0:
			if err := d.keys.Add(last, row); err != nil {
				return err
			}
		}
		last, row = append(last[:0], r.Key...), n
	}
	if row >= 0 {
		if err := d.keys.Add(last, row); err != nil {
			return err
		}
	}
	return d.keys.Finish()
}

// lasting are the rows that are no other's predecessor, in the order in which they came.
func (d *keyedRows) lasting(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		at := int64(0)
		for b, err := range d.rows.Sorted(ctx) {
			if err == nil && d.dropped > 0 {
				from := at
				at += b.NumRows()
				b = d.without(b, from)
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// without leaves out the rows that were superseded of a batch whose first row is row from.
func (d *keyedRows) without(b arrow.RecordBatch, from int64) arrow.RecordBatch {
	keep := make([]byte, (b.NumRows()+7)/8)
	for i := range b.NumRows() {
		if at := from + i; d.superseded[at/8]>>(at%8)&1 == 0 {
			keep[i/8] |= 1 << (i % 8)
		}
	}
	return shardfmt.SelectRows(b, keep)
}
