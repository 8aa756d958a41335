package fileio

import (
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// arrowSink writes Parquet and Arrow IPC by Arrow's own writers.
type arrowSink struct {
	write  func(arrow.RecordBatch) error
	close  func() error
	report *arrowtype.Report
	// fields report what may be null: Arrow's writers take a null of a required field for the value after it.
	fields []*schema.Node
}

func newArrowSink(f Format, w io.Writer, s *arrow.Schema, exact bool) (fileformat.Sink, error) {
	w = struct{ io.Writer }{w} // what a library writes to, it would close
	switch f {
	case Parquet:
		return newParquetSink(w, s, exact)
	case ArrowStream:
		f := ipc.NewWriter(w, ipc.WithSchema(s))
		return arrowSink{f.Write, f.Close, &arrowtype.Report{}, arrowtype.Demanding(s.Fields())}, nil
	case Arrow:
		f, err := ipc.NewFileWriter(w, ipc.WithSchema(s))
		if err != nil {
			return nil, err
		}
		return arrowSink{f.Write, f.Close, &arrowtype.Report{}, arrowtype.Demanding(s.Fields())}, nil
	}
	return nil, fmt.Errorf("format %q is not written from batches", f)
}

// Write implements fileformat.Sink. A null in a required field is refused.
func (s arrowSink) Write(batch arrow.RecordBatch) error {
	if err := arrowtype.CheckNulls(batch, s.fields); err != nil {
		return err
	}
	return s.write(batch)
}

// Close implements fileformat.Sink.
func (s arrowSink) Close() error { return s.close() }

// Report implements fileformat.Sink: Arrow's writers hold what they take, or refuse it, but for units of time.
func (s arrowSink) Report() *arrowtype.Report { return s.report }

// parquetReport refuses types that Parquet does not have, by the name of their field, and reports what others become.
func parquetReport(s *arrow.Schema, r *arrowtype.Report) error {
	for _, f := range s.Fields() {
		if _, err := pqarrow.ToParquet(arrow.NewSchema([]arrow.Field{f}, nil), nil, pqarrow.DefaultWriterProps()); err != nil {
			return fmt.Errorf("field %q: Parquet has no type for %s: leave it out, or write Arrow", f.Name, f.Type)
		}
		if hasSeconds(f.Type) {
			r.Add(f.Name, "seconds of the day become milliseconds", 0)
		}
	}
	return nil
}

// hasSeconds reports whether a type is, or holds, times of the day in seconds.
func hasSeconds(t arrow.DataType) bool {
	if nested, ok := t.(arrow.NestedType); ok {
		return slices.ContainsFunc(nested.Fields(), func(f arrow.Field) bool { return hasSeconds(f.Type) })
	}
	return arrow.TypeEqual(t, arrow.FixedWidthTypes.Time32s)
}
