package tablescan

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// ReadOptions of Read.
type ReadOptions struct {
	ScanOptions
	// Canonical gives the types in which shards hold values (package arrowtype): timestamps over all of the format's
	// range, decimals with the exponents they were written with. By default records have types that every Arrow
	// program knows, as far as possible those that the table was made of: timestamps in UTC, decimal128, durations.
	Canonical bool
	// TimeUnit of timestamps and durations that no Arrow schema gives a unit: ns (also if empty), us, ms or s. A value
	// that the unit can't hold ends the reading with an *arrowtype.RowError.
	TimeUnit string
	// Stats, if not nil, is filled; it may be read when the reading has ended.
	Stats *ScanStats
}

// Reader gives the rows of a plan as an Arrow reader, as Read does; of the options only those of records count, for the
// plan was made with a scan's. The types depend on the table and the columns alone, so that the tasks of a plan have
// the same.
func (p *Plan) Reader(ctx context.Context, o ReadOptions) (array.RecordReader, error) {
	r := &planReader{schema: p.Schema()}
	r.refs.Store(1)
	if !o.Canonical {
		var err error
		if r.exporter, err = p.state.exporter(p.Fields(), o.TimeUnit); err != nil {
			return nil, err
		}
		r.schema = r.exporter.Schema()
	}
	r.next, r.stop = iter.Pull2(p.Run(ctx, o.Stats))
	return r, nil
}

// ArrowSchema is the schema of the records of all columns, see ReadOptions.TimeUnit.
func (s *State) ArrowSchema(timeUnit string) (*arrow.Schema, error) {
	e, err := s.exporter(s.Schema.Shard.Fields, timeUnit)
	if err != nil {
		return nil, err
	}
	return e.Schema(), nil
}

// exporter gives columns the types that every Arrow program knows.
func (t *State) exporter(fields []*schema.Node, timeUnit string) (*arrowtype.Exporter, error) {
	e, err := arrowtype.NewExporter(&schema.Schema{Fields: fields}, arrowtype.ExportOptions{TimeUnit: timeUnit, Original: t.OriginalSchema()})
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", t.Name, err)
	}
	return e, nil
}

// LimitMemory sets the most bytes of memory that the values of the plan's scan may take, as ScanOptions.MaxMemory does
// where a plan is made of options.
func (p *Plan) LimitMemory(bytes int64) { p.options.MaxMemory = bytes }

// planReader is a running plan as an Arrow reader.
type planReader struct {
	schema   *arrow.Schema
	exporter *arrowtype.Exporter
	next     func() (arrow.RecordBatch, error, bool)
	stop     func()
	refs     atomic.Int64
	batch    arrow.RecordBatch
	err      error
}

// Retain and Release count references; the last Release ends the scan.
func (r *planReader) Retain() { r.refs.Add(1) }

// Release: see Retain.
func (r *planReader) Release() {
	if r.refs.Add(-1) == 0 {
		r.stop()
		r.drop()
	}
}

func (r *planReader) drop() {
	if r.batch != nil {
		r.batch.Release()
	}
	r.batch = nil
}

// Schema of the records.
func (r *planReader) Schema() *arrow.Schema { return r.schema }

// Next goes to the next record; false means that there is none, or an error.
func (r *planReader) Next() bool {
	r.drop()
	if r.err != nil {
		return false
	}
	batch, err, ok := r.next()
	if !ok {
		return false
	}
	if err == nil && r.exporter != nil {
		stored := batch
		batch, err = r.exporter.Export(stored)
		stored.Release() // what the exported one shares with it lives on
	}
	if err != nil {
		r.err = err
		r.stop()
		return false
	}
	r.batch = batch
	return true
}

// RecordBatch is the current record.
func (r *planReader) RecordBatch() arrow.RecordBatch { return r.batch }

// Record is RecordBatch under its old name, which the interface still has.
func (r *planReader) Record() arrow.RecordBatch { return r.batch }

// Err is what ended the reading early, nil at its end.
func (r *planReader) Err() error { return r.err }
