package fileio

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
)

// TestParquetNeedsItsReader: a program that has not called ServeReader gets an error with the line to add, and reads the file if it requests
// that in its own process.
func TestParquetNeedsItsReader(t *testing.T) {
	was := readsApart.Load()
	readsApart.Store(false)
	defer readsApart.Store(was)
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	path := "file://" + filepath.ToSlash(filepath.Join(t.TempDir(), "a.parquet"))
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil))
	b.Field(0).(*array.Int64Builder).AppendValues([]int64{1, 2, 3}, nil)
	out, err := Parquet.CreateBatches(t.Context(), client, path, b.Schema(), SinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Write(b.NewRecordBatch()); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenSource(t.Context(), client, []string{path}, SourceOptions{}); !errors.Is(err, errNoReader) {
		t.Errorf("without a reader: %v, want %v", err, errNoReader)
	}
	src, err := OpenSource(t.Context(), client, []string{path}, SourceOptions{InProcess: true})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	batch, err := src.Next(t.Context())
	if err != nil || batch.NumRows() != 3 {
		t.Errorf("%v, %v; want 3 rows", batch, err)
	}
}
