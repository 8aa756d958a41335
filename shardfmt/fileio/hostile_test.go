package fileio_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/fileio"
)

// TestMain lends the test binary as the process that reads Parquet.
func TestMain(m *testing.M) {
	fileio.ServeReader()
	os.Exit(m.Run())
}

// readAll counts the rows of a file, or gives the first error.
func readAll(t *testing.T, path string) (rows int64, err error) {
	t.Helper()
	src, err := open(t, fileio.SourceOptions{}, path)
	if err != nil {
		return 0, err
	}
	defer src.Close()
	for {
		b, err := src.Next(context.Background())
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows += b.NumRows()
		b.Release()
	}
}

// Files made to hurt a reader end in an error of damage. Those beside the checkout are read too, where they are there.
func TestHostileFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/hostile/*.gz")
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	more, _ := filepath.Glob(filepath.Join(os.Getenv("SHARDCAT_INTEROP"), "hostile/inputs/*.gz"))
	for _, name := range append(files, more...) {
		packed, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(packed)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(z)
		packed.Close()
		if err != nil {
			t.Fatal(err)
		}
		_, paths := write(t, strings.TrimSuffix(filepath.Base(name), ".gz"), string(data))
		if rows, err := readAll(t, paths[0]); !errors.Is(err, corrupt.ErrCorrupt) {
			t.Errorf("%s: %d rows, %v", name, rows, err)
		}
	}
}

// The process that reads Parquet gives the rows that are there, and its death is an error of the file.
func TestParquetIsReadApart(t *testing.T) {
	file := parquetOf(t, arrow.BinaryTypes.String, `["a", null, "b"]`)
	_, paths := write(t, "good.parquet", file, "cut.parquet", file[:len(file)/2])
	if rows, err := readAll(t, paths[0]); rows != 3 || err != nil {
		t.Errorf("%d rows, %v", rows, err)
	}
	if _, err := readAll(t, paths[1]); !errors.Is(err, corrupt.ErrCorrupt) {
		t.Error(err)
	}
	// A source that is closed early ends its process.
	src, err := open(t, fileio.SourceOptions{BatchRows: 1}, paths[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := src.Close(); err != nil {
		t.Error(err)
	}
}

// stream writes a batch as an Arrow stream.
func stream(t *testing.T, batch arrow.RecordBatch, o ...ipc.Option) []byte {
	t.Helper()
	var out bytes.Buffer
	w := ipc.NewWriter(&out, append(o, ipc.WithSchema(batch.Schema()))...)
	if err := errors.Join(w.Write(batch), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A few bytes that stand for more rows, or wider ones, than can be held are refused or cut into batches.
func TestArrowAmplification(t *testing.T) {
	nulls := array.NewNull(1 << 40)
	s := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.Null, Nullable: true}}, nil)
	_, paths := write(t, "nulls.arrows", string(stream(t, array.NewRecordBatch(s, []arrow.Array{nulls}, 1<<40))))
	if rows, err := readAll(t, paths[0]); !errors.Is(err, corrupt.ErrCorrupt) {
		t.Errorf("%d rows, %v", rows, err)
	}

	const width, codes = 1 << 20, 1 << 15 // 32 GiB as plain values
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.Append(strings.Repeat("x", width))
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	indices := array.NewData(arrow.PrimitiveTypes.Int8, codes, []*memory.Buffer{nil, memory.NewBufferBytes(make([]byte, codes))}, nil, 0, 0)
	dictionary := array.NewDictionaryArray(typ, array.NewInt8Data(indices), b.NewArray())
	s = arrow.NewSchema([]arrow.Field{{Name: "d", Type: typ}}, nil)
	_, paths = write(t, "wide.arrows", string(stream(t, array.NewRecordBatch(s, []arrow.Array{dictionary}, codes))))
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	src, err := fileio.OpenSource(context.Background(), sp, paths, fileio.SourceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	batch, err := src.Next(context.Background())
	if err != nil || batch.NumRows() > 64 {
		t.Errorf("%d rows of a megabyte at once, %v", batch.NumRows(), err)
	}
}

// A zstd frame of some bytes may claim half a GiB for its window, which is refused before memory is taken for it; one of
// 128 MiB is read.
func TestArrowWindows(t *testing.T) {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues([]int64{1 << 60, 7, 1 << 41, -5, 99 << 30}, nil)
	s := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	packed := stream(t, array.NewRecordBatch(s, []arrow.Array{b.NewArray()}, 5), ipc.WithZstd())
	frame := bytes.Index(packed, []byte{0x28, 0xB5, 0x2F, 0xFD})
	const oneSegment, fromLog29, fromLog27 = 0x20, 19 << 3, 17 << 3
	if frame < 0 || packed[frame+4]&oneSegment != 0 {
		t.Fatalf("not the frame that was expected: % x", packed[max(frame, 0):])
	}
	for window, readable := range map[byte]bool{fromLog27: true, fromLog29: false} {
		packed[frame+5] = window // behind the magic and a byte of flags
		_, paths := write(t, "window.arrows", string(packed))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		rows, err := readAll(t, paths[0])
		runtime.ReadMemStats(&after)
		if readable && (rows != 5 || err != nil) {
			t.Errorf("window %#x: %d rows, %v", window, rows, err)
		}
		if taken := after.TotalAlloc - before.TotalAlloc; !readable && (!errors.Is(err, corrupt.ErrCorrupt) || !strings.Contains(err.Error(), "window") || taken > 64<<20) {
			t.Errorf("window %#x: %d bytes were taken, %v", window, taken, err)
		}
	}
}

// A batch has fewer rows the more columns there are: 10,000 columns of which each row has one would else be 80 million nulls.
func TestBatchesOfManyColumns(t *testing.T) {
	const columns, rows = 10_000, 10_000
	var text strings.Builder
	for i := range rows {
		fmt.Fprintf(&text, "{\"f%d\":1}\n", i%columns)
	}
	path := filepath.Join(t.TempDir(), "wide.ndjson")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	src, err := open(t, fileio.SourceOptions{}, path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := src.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := b.NumRows(); n == 0 || n*columns > 8<<20 {
		t.Errorf("a batch of %d rows and %d columns", n, columns)
	}
}
