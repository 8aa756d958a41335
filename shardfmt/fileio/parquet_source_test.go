package fileio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// mixedTypes are columns that are decoded here and, every second of them, ones that the library reads.
var mixedTypes = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
	{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "flag", Type: arrow.FixedWidthTypes.Boolean},
	{Name: "price", Type: &arrow.Decimal128Type{Precision: 15, Scale: 2}},
	{Name: "place", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Float64}, arrow.Field{Name: "y", Type: arrow.PrimitiveTypes.Float64})},
	{Name: "took", Type: arrow.PrimitiveTypes.Float32, Nullable: true},
}, nil)

// mixed is a file of rows of mixedTypes, or of the columns that are decoded here alone, 300 in a row group.
func mixed(t *testing.T, rows int, all bool) (file []byte, want arrow.RecordBatch) {
	t.Helper()
	lines := make([]string, rows)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"id": %d, "tags": ["a", "b%d"], "flag": %v, "price": "%d.25", "place": {"x": %d, "y": 2}, "name": "n%d", "took": %d}`,
			i, i, i%3 == 0, i%50, i, i%7, i)
		if i%5 == 0 {
			lines[i] = fmt.Sprintf(`{"id": %d, "flag": true, "price": "-1", "place": {"x": 0, "y": 1}}`, i)
		}
	}
	want, _, err := array.RecordFromJSON(memory.DefaultAllocator, mixedTypes, strings.NewReader("["+strings.Join(lines, ",")+"]"))
	if err != nil {
		t.Fatal(err)
	}
	if !all {
		fields, columns := []arrow.Field{}, []arrow.Array{}
		for i := 0; i < 7; i += 2 {
			fields, columns = append(fields, mixedTypes.Field(i)), append(columns, want.Column(i))
		}
		want = array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(rows))
	}
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(want.Schema(), &out, parquet.NewWriterProperties(parquet.WithMaxRowGroupLength(300)), pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		t.Fatal(err)
	}
	for at := int64(0); at < int64(rows); at += 300 {
		if err := w.Write(want.NewSlice(at, min(at+300, int64(rows)))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), want
}

type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

// Columns that are decoded here and those that the library reads come in the same rows, across row groups.
func TestParquetShared(t *testing.T) {
	for _, all := range []bool{true, false} {
		b, want := mixed(t, 1000, all)
		for _, rows := range []int{7, 256, 5000} {
			f, err := newParquet(t.Context(), inMemory{bytes.NewReader(b)}, SourceOptions{BatchRows: rows}.withDefaults(), false)
			if err != nil {
				t.Fatal(err)
			}
			if own := f.rest == nil; own == all {
				t.Errorf("the library reads columns: %v", !own)
			}
			at := int64(0)
			for {
				batch, err := f.next(context.Background())
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if part := want.NewSlice(at, at+batch.NumRows()); !array.RecordEqual(part, batch) {
					t.Fatalf("rows from %d on: %v where %v was written", at, batch, part)
				}
				at += batch.NumRows()
			}
			if at != 1000 {
				t.Errorf("%d rows of 1000", at)
			}
			if err := f.close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A footer that claims other rows than the pages have is damage, not a shorter file.
func TestParquetRowsMissing(t *testing.T) {
	for _, all := range []bool{true, false} {
		b, _ := mixed(t, 100, all)
		f, err := newParquet(t.Context(), inMemory{bytes.NewReader(b)}, SourceOptions{}.withDefaults(), false)
		if err != nil {
			t.Fatal(err)
		}
		f.left += 5
		for err == nil {
			_, err = f.next(t.Context())
		}
		if !errors.Is(err, corrupt.ErrCorrupt) {
			t.Errorf("rows are missing: %v", err)
		}
	}
}
