package parquetcodec

import (
	"bytes"
	"context"
	"io"
	"os"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// misflag clears the flags of the compressed pages of a file whose chunks follow each other, and counts them.
func misflag(b []byte, end int) (flags int) {
	for at := 4; at < end; {
		p, err := ParsePage(b[at:])
		if err != nil {
			return flags
		}
		t := &compact{b: b[at:]}
		_ = t.fields(func(id int, kind byte) error {
			if id != 8 {
				return t.skip(kind, 0)
			}
			return t.fields(func(id int, kind byte) error {
				if id == 7 && kind == 1 && p.compressed != p.uncompressed {
					t.b[t.field]++
					flags++
				}
				return t.skip(kind, 0)
			})
		})
		at += p.Size()
	}
	return flags
}

// A file whose pages are reported not to be compressed, and are, has the rows that were written, whole and read in pieces of any size.
func TestFlagsOfCompressedPages(t *testing.T) {
	b, err := os.ReadFile("testdata/v2_snappy_pages.parquet")
	if err != nil {
		t.Fatal(err)
	}
	plain, err := file.NewParquetReader(bytes.NewReader(bytes.Clone(b)))
	if err != nil {
		t.Fatal(err)
	}
	read := func(f *file.Reader) (arrow.Table, error) {
		rows, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
		if err != nil {
			return nil, err
		}
		return rows.ReadTable(context.Background())
	}
	want, err := read(plain)
	if err != nil || want.NumRows() != 3000 {
		t.Fatal(want, err)
	}
	if n := misflag(b, len(b)); n < 30 {
		t.Fatalf("%d pages", n)
	}
	for _, buffer := range []int64{0, 64, 1000, 1 << 20} {
		p := parquet.NewReaderProperties(memory.DefaultAllocator)
		p.BufferedStreamEnabled, p.BufferSize = buffer > 0, max(buffer, 16)
		source := struct {
			io.ReaderAt
			io.Seeker
		}{NewFlagFixer(bytes.NewReader(b), plain.MetaData()), bytes.NewReader(b)}
		f, err := file.NewParquetReader(source, file.WithMetadata(plain.MetaData()), file.WithReadProps(p))
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(f)
		if err != nil {
			t.Errorf("buffers of %d: %v", buffer, err)
		} else if !array.TableEqual(got, want) {
			t.Errorf("buffers of %d: other rows", buffer)
		}
	}
}
