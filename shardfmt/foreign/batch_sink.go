package foreign

import (
	"errors"
	"io"
	"os"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/fileformat"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// batchSink writes Arrow IPC and Parquet. Decimals need a type of one scale that all of them fit: that of the original
// schema, or one that is known only after the last, and then records with decimals wait in a temporary file.
type batchSink struct {
	format  Format
	open    func(*arrow.Schema) (fileformat.Sink, error)
	schema  *schema.Schema
	options SinkOptions
	row     int64

	out    *exported
	waiter *waiter
}

// exported writes batches in their final types.
type exported struct {
	fileformat.Sink
	exporter *arrowtype.Exporter
}

// newBatchSink writes batches to what open starts, once the Arrow schema is known.
func newBatchSink(f Format, open func(*arrow.Schema) (fileformat.Sink, error), s *schema.Schema, o SinkOptions) (*batchSink, error) {
	sink := &batchSink{format: f, open: open, schema: s, options: o}
	// Types that the format lacks are refused now, not at the end.
	out, err := sink.export(nil)
	if err != nil {
		return nil, err
	}
	if scan := newDecimalScan(s); scan.without(out.Schema()) {
		sink.waiter, err = newWaiter(s, scan)
		return sink, err
	}
	return sink, sink.begin(out)
}

// export chooses the final types.
func (s *batchSink) export(scan decimalScan) (*arrowtype.Exporter, error) {
	o := arrowtype.ExportOptions{
		TimeUnit: s.options.TimeUnit, GuidAsString: s.options.GuidAsString,
		Original: s.options.Original, Parquet: s.format == Parquet, Strict: s.options.Exact, Variants: s.options.Variants,
	}
	if scan != nil {
		o.Decimal = scan.typeOf
	}
	return arrowtype.NewExporter(s.schema, o)
}

// begin writes the head of the file.
func (s *batchSink) begin(e *arrowtype.Exporter) error {
	f, err := s.open(e.Schema())
	if err != nil {
		return err
	}
	s.out = &exported{exporter: e, Sink: f}
	return nil
}

// Write implements Sink.
func (s *batchSink) Write(batch arrow.RecordBatch) error {
	if s.waiter != nil {
		return s.waiter.add(batch)
	}
	return s.put(batch)
}

func (s *batchSink) put(batch arrow.RecordBatch) error {
	out, err := s.out.exporter.Export(batch)
	var row *arrowtype.RowError
	if errors.As(err, &row) {
		return &RecordError{Input: string(s.format), Row: s.row + row.Row + 1, Field: row.Field, Err: row.Err}
	}
	if err != nil {
		return err
	}
	defer out.Release()
	s.row += batch.NumRows()
	return s.located(s.out.Write(out), batch.NumRows())
}

// located adds the place of the record to an error of a sink of Arrow batches.
func (s *batchSink) located(err error, rows int64) error {
	var row *arrowtype.RowError
	if errors.As(err, &row) {
		return &RecordError{Input: string(s.format), Row: s.row - rows + row.Row + 1, Field: row.Field, Err: row.Err}
	}
	return err
}

// Report tells what the file does not hold of the records; it is complete after Close.
func (s *batchSink) Report() *arrowtype.Report {
	r := &arrowtype.Report{}
	if s.out != nil {
		r.Merge(s.out.exporter.Report())
		r.Merge(s.out.Report())
	}
	return r
}

// Close implements Sink.
func (s *batchSink) Close() error {
	if s.waiter != nil {
		if err := s.release(); err != nil {
			return errors.Join(err, s.waiter.close())
		}
	}
	err := s.out.Close()
	for line := range strings.Lines(s.Report().String()) {
		s.options.Warn(strings.TrimSpace(line))
	}
	if s.waiter != nil {
		return errors.Join(err, s.waiter.close())
	}
	return err
}

// release writes what waited, now that the scales are known.
func (s *batchSink) release() error {
	e, err := s.export(s.waiter.scan)
	if err != nil {
		return err
	}
	if err := s.begin(e); err != nil {
		return err
	}
	return s.waiter.each(s.put)
}

// waiter keeps canonical batches in a temporary file, and looks at their decimals.
type waiter struct {
	scan decimalScan
	file *os.File
	w    *ipc.Writer
}

func newWaiter(s *schema.Schema, scan decimalScan) (*waiter, error) {
	f, err := os.CreateTemp("", "shardcat-*")
	if err != nil {
		return nil, err
	}
	return &waiter{scan, f, ipc.NewWriter(struct{ io.Writer }{f}, ipc.WithSchema(arrowtype.Schema(s)), ipc.WithAllocator(memory.DefaultAllocator))}, nil
}

func (w *waiter) add(batch arrow.RecordBatch) error {
	for i, f := range batch.Schema().Fields() {
		w.scan.look(batch.Column(i), f.Name)
	}
	return w.w.Write(batch)
}

// each reads the batches back.
func (w *waiter) each(do func(arrow.RecordBatch) error) error {
	if err := w.w.Close(); err != nil {
		return err
	}
	if _, err := w.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r, err := ipc.NewReader(w.file)
	if err != nil {
		return err
	}
	defer r.Release()
	for r.Next() {
		if err := do(r.RecordBatch()); err != nil {
			return err
		}
	}
	if err := r.Err(); err != nil && err != io.EOF {
		return err
	}
	return nil
}

func (w *waiter) close() error { return spooled{File: w.file}.Close() }
