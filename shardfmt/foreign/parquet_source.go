package foreign

import (
	"context"
	"encoding/base64"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
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

func openParquet(ctx context.Context, sp *blobio.Client, in input, o SourceOptions) (f batchFile, err error) {
	r, err := in.openRandom(ctx, sp)
	if err != nil {
		return nil, err
	}
	defer func() {
		if f == nil {
			r.Close()
		}
	}()
	p, err := file.NewParquetReader(struct { // what a library reads from, it would close
		io.ReaderAt
		io.Seeker
	}{r, r})
	if err != nil {
		return nil, damaged(err)
	}
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
		return f.rows.RecordBatch(), nil
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
