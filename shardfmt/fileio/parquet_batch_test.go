package fileio

import (
	"bytes"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// Rows that are too long for a batch of as many as usual come in smaller ones; a footer that exaggerates does not make batches of single rows.
func TestRowsAtOnce(t *testing.T) {
	types := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}}, nil)
	b := array.NewStringBuilder(memory.DefaultAllocator)
	defer b.Release()
	const rows, length = 100, 1000
	for range rows {
		b.Append(strings.Repeat("x", length))
	}
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(types, &out, parquet.NewWriterProperties(parquet.WithDictionaryDefault(false)), pqarrow.DefaultWriterProps())
	if err == nil {
		err = w.Write(array.NewRecordBatch(types, []arrow.Array{b.NewArray()}, rows))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := file.NewParquetReader(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		most        int
		size, batch int64
		want        int
	}{
		{8192, int64(out.Len()), 1 << 20, 8192},
		{8192, int64(out.Len()), 20 * length, 16},
		{4, int64(out.Len()), 20 * length, 4},
		{8192, int64(out.Len()), 10, 1},
		{8192, 5000, 20 * length, 50},
	} {
		if got := rowsAtOnce(p, c.most, c.size, c.batch); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// A reader process that ends for want of memory names the limit, without the words of Go's runtime.
func TestReaderOutOfMemory(t *testing.T) {
	for _, words := range []string{"fatal error: runtime: out of memory\n", "fatal error: out of memory allocating heap arena metadata\n", "runtime: cannot allocate memory\nfatal error: cannot allocate memory\n"} {
		p := &readerProcess{}
		p.stderr.WriteString(words)
		if err := p.death(); !strings.Contains(err.Error(), "--max-memory") || !strings.Contains(err.Error(), "unsupported") || strings.Contains(err.Error(), "runtime") {
			t.Errorf("%q: %v", words, err)
		}
	}
}
