package fileio

import (
	"errors"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// batchSink writes Arrow IPC and Parquet. The types are settled before the first record.
type batchSink struct {
	format   Format
	out      fileformat.Sink
	exporter *arrowtype.Exporter
	options  SinkOptions
	row      int64
}

// newBatchSink writes batches to what open starts, once the Arrow schema is known.
func newBatchSink(f Format, open func(*arrow.Schema) (fileformat.Sink, error), s *schema.Schema, o SinkOptions) (*batchSink, error) {
	exporter, err := arrowtype.NewExporter(s, arrowtype.ExportOptions{
		TimeUnit: o.TimeUnit, GuidAsString: o.GuidAsString, Decimal: o.Decimal,
		Original: o.Original, Parquet: f == Parquet, Strict: o.Exact, Variants: o.Variants,
	})
	if err != nil {
		return nil, err
	}
	out, err := open(exporter.Schema())
	if err != nil {
		return nil, err
	}
	return &batchSink{format: f, out: out, exporter: exporter, options: o}, nil
}

// Write implements Sink.
func (s *batchSink) Write(batch arrow.RecordBatch) error {
	out, err := s.exporter.Export(batch)
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

// Report reports what the file does not hold of the records; it is complete after Close.
func (s *batchSink) Report() *arrowtype.Report {
	r := &arrowtype.Report{}
	r.Merge(s.exporter.Report())
	r.Merge(s.out.Report())
	return r
}

// Held implements GroupedSink; 0 for formats without groups.
func (s *batchSink) Held() int64 {
	if p, ok := s.out.(*parquetSink); ok {
		return p.out.Held()
	}
	return 0
}

// EndGroup implements GroupedSink.
func (s *batchSink) EndGroup() error {
	if p, ok := s.out.(*parquetSink); ok {
		return p.out.EndGroup()
	}
	return nil
}

// Close implements Sink.
func (s *batchSink) Close() error {
	err := s.out.Close()
	for line := range strings.Lines(s.Report().String()) {
		s.options.Warn(strings.TrimSpace(line))
	}
	return err
}
