package foreign

import (
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/fileformat"
)

// parquetGroup is how many records a row group has.
const parquetGroup = 1 << 20

// arrowSink writes Parquet and Arrow IPC by Arrow's own writers.
type arrowSink struct {
	write func(arrow.RecordBatch) error
	close func() error
}

func newArrowSink(f Format, w io.Writer, s *arrow.Schema) (fileformat.Sink, error) {
	w = struct{ io.Writer }{w} // what a library writes to, it would close
	switch f {
	case Parquet:
		props := parquet.NewWriterProperties(
			parquet.WithVersion(parquet.V2_LATEST), parquet.WithCompression(compress.Codecs.Zstd),
			parquet.WithMaxRowGroupLength(parquetGroup))
		f, err := pqarrow.NewFileWriter(s, w, props, pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
		if err != nil {
			return nil, err
		}
		return arrowSink{f.WriteBuffered, f.Close}, nil
	case ArrowStream:
		f := ipc.NewWriter(w, ipc.WithSchema(s))
		return arrowSink{f.Write, f.Close}, nil
	case Arrow:
		f, err := ipc.NewFileWriter(w, ipc.WithSchema(s))
		if err != nil {
			return nil, err
		}
		return arrowSink{f.Write, f.Close}, nil
	}
	return nil, fmt.Errorf("format %q is not written from batches", f)
}

// Write implements fileformat.Sink.
func (s arrowSink) Write(batch arrow.RecordBatch) error { return s.write(batch) }

// Close implements fileformat.Sink.
func (s arrowSink) Close() error { return s.close() }

// Report implements fileformat.Sink: Arrow's writers hold what they take, or refuse it.
func (s arrowSink) Report() *arrowtype.Report { return &arrowtype.Report{} }
