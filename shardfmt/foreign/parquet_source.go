package foreign

import (
	"context"
	"encoding/base64"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
)

// parquetFile reads one Parquet file, a row group's column chunk at a time.
type parquetFile struct {
	types *arrow.Schema
	file  *file.Reader
	rows  pqarrow.RecordReader
	body  io.Closer
}

// openParquet opens a Parquet file, in a process of its own where there is one (ServeReader).
func openParquet(ctx context.Context, sp *blobio.Client, in input, o SourceOptions) (batchFile, error) {
	r, err := in.openRandom(ctx, sp)
	if err != nil {
		return nil, err
	}
	var f batchFile
	if readsApart.Load() {
		f, err = startReader(ctx, r, o)
	} else {
		f, err = newParquet(ctx, r, o)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return f, nil
}

// Buffers of the columns of a file, in bytes: for all, and at least and at most for one.
const (
	parquetBuffers   = 64 << 20
	minParquetBuffer = 16 << 10
	maxParquetBuffer = 1 << 20
)

func newParquet(ctx context.Context, r random, o SourceOptions) (*parquetFile, error) {
	properties := parquet.NewReaderProperties(memory.DefaultAllocator)
	properties.BufferedStreamEnabled = true  // else column chunks are read whole
	p, err := file.NewParquetReader(struct { // what a library reads from, it would close
		io.ReaderAt
		io.Seeker
	}{r, r}, file.WithReadProps(properties))
	if err != nil {
		return nil, damaged(err)
	}
	columns := p.MetaData().Schema.NumColumns()
	if columns > MaxFields {
		return nil, damaged(ErrTooManyFields)
	}
	properties.BufferSize = int64(min(max(parquetBuffers/max(columns, 1), minParquetBuffer), maxParquetBuffer))
	if err := checkArrowSchema(p); err != nil {
		return nil, err
	}
	rows, err := pqarrow.NewFileReader(p, pqarrow.ArrowReadProperties{BatchSize: int64(o.BatchRows)}, memory.DefaultAllocator)
	if err != nil {
		return nil, damaged(err)
	}
	types, err := rows.Schema()
	if err != nil {
		return nil, damaged(err)
	}
	all, err := rows.GetRecordReader(ctx, nil, nil)
	if err != nil {
		return nil, damaged(err)
	}
	return &parquetFile{types, p, all, r}, nil
}

// checkArrowSchema checks the Arrow schema that a file may carry, in base64, before Arrow's reader takes its word
// for how many fields there are.
func checkArrowSchema(p *file.Reader) error {
	text := p.MetaData().KeyValueMetadata().FindValue("ARROW:schema")
	if text == nil {
		return nil
	}
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(*text, "="))
	if err == nil {
		err = arrowtype.CheckSchemaStream(b)
	}
	if err != nil {
		return damaged(err)
	}
	return nil
}

func (f *parquetFile) schema() *arrow.Schema { return f.types }

func (f *parquetFile) next(context.Context) (b arrow.RecordBatch, err error) {
	defer guard(&err, "Parquet file")
	if f.rows.Next() {
		return f.rows.RecordBatch(), sound(f.rows.RecordBatch(), maxArrowBody)
	}
	if err := f.rows.Err(); err != nil && err != io.EOF {
		return nil, damaged(err)
	}
	return nil, io.EOF
}

func (f *parquetFile) close() error {
	f.rows.Release()
	f.file.Close()
	return f.body.Close()
}
