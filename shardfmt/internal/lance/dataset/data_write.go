package dataset

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
	"github.com/shardcat/shardcat/shardfmt/internal/lance"
)

// dataFileWriter is a data file on its way up.
type dataFileWriter struct {
	*lance.Writer
	to    *fileformat.Object
	rows  int64
	bytes int64
}

func newDataFile(ctx context.Context, st fileformat.Creator, url string, s *arrow.Schema, o lance.WriteOptions) (*dataFileWriter, error) {
	to, err := fileformat.NewObject(ctx, st, url)
	if err != nil {
		return nil, err
	}
	f := &dataFileWriter{to: to}
	if f.Writer, err = lance.NewWriter(counter{to, &f.bytes}, s, o); err != nil {
		to.Abort()
		return nil, err
	}
	return f, nil
}

// write takes rows [from, to) of a batch.
func (f *dataFileWriter) write(batch arrow.RecordBatch, from, to int64) error {
	part := batch.NewSlice(from, to)
	defer part.Release()
	err := f.Write(part)
	var row *arrowtype.RowError
	if errors.As(err, &row) {
		return &arrowtype.RowError{Field: row.Field, Row: from + row.Row, Err: row.Err}
	}
	f.rows += to - from
	return err
}

// commit makes the file visible.
func (f *dataFileWriter) commit() error {
	if err := f.Close(); err != nil {
		return err
	}
	return f.to.Commit()
}

func (f *dataFileWriter) abort() { f.to.Abort() }

// counter counts what is written.
type counter struct {
	io.Writer
	bytes *int64
}

// Write implements io.Writer.
func (c counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	*c.bytes += int64(n)
	return n, err
}
