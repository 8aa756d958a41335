package fileio_test

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

// encodedColumns are the columns of the files in testdata/encodings: each type with nulls, without, and in lists.
var encodedColumns = map[string]string{
	"plain": "bool i32 i64 f32 f64 bytes text fixed dec half uuid", "rle": "bool", "delta_binary_packed": "i32 i64", "delta_length_byte_array": "bytes text",
	"delta_byte_array": "bytes text fixed dec half uuid", "byte_stream_split": "i32 i64 f32 f64 fixed dec half uuid",
	"dictionary": "i32 i64 f32 f64 bytes text fixed dec half uuid",
}

// Every type is read in each encoding that the format allows for it, in pages of both versions of a few values, copied as well as referred to. The
// files are pyarrow's, and so are the values.
func TestParquetEncodings(t *testing.T) {
	b, err := os.ReadFile("testdata/encodings/rows.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string][]any
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	for encoding, types := range encodedColumns {
		for _, version := range []string{"_v1", "_v2"} {
			t.Run(encoding+version, func(t *testing.T) {
				copied, external := encodedRows(t, encoding+version)
				for way, got := range map[string]map[string][]any{"copied": copied, "external": external} {
					if n := 3 * len(strings.Fields(types)); len(got) != n {
						t.Errorf("%s: %d columns, want %d: %v", way, len(got), n, slices.Sorted(maps.Keys(got)))
					}
					for _, kind := range strings.Fields(types) {
						for _, column := range []string{kind, kind + "_required", kind + "_list"} {
							if !reflect.DeepEqual(got[column], want[column]) || len(got[column]) == 0 {
								t.Errorf("%s, %s: %v, want %v", way, column, got[column], want[column])
							}
						}
					}
				}
			})
		}
	}
}

// encodedRows gives the columns of a file as they are read from a copy, and from a shard that refers to it.
func encodedRows(t *testing.T, name string) (copied, external map[string][]any) {
	t.Helper()
	sp := blobio.NewClient(blobio.ClientOptions{})
	t.Cleanup(func() { sp.Close() })
	folder := "mem://encodings-" + strings.ReplaceAll(name, "_", "-") + "/"
	file := folder + name + ".parquet"
	b, err := os.ReadFile(filepath.Join("testdata/encodings", name+".parquet"))
	if err == nil {
		err = sp.Put(t.Context(), file, b)
	}
	if err != nil {
		t.Fatal(err)
	}
	src, err := fileio.OpenSource(t.Context(), sp, []string{file}, fileio.SourceOptions{InProcess: true, BatchRows: 5})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	copied = columnsOf(t, through(t, sp, folder+"copy.amudai.shard", src, shardfmt.WriterOptions{}))
	root := folder + "over.amudai.shard"
	if _, err := shardfmt.WriteExternalParquet(t.Context(), sp, root, []string{file}, shardfmt.ExternalOptions{}); err != nil {
		t.Fatal(err)
	}
	if r, err := verify.Shard(t.Context(), sp, root, verify.Options{}); err != nil || !r.OK {
		t.Errorf("%+v %v", r, err)
	}
	return copied, columnsOf(t, rowsOf(t, sp, root, shardfmt.ScanOptions{}))
}

// columnsOf gives rows of JSON by column.
func columnsOf(t *testing.T, rows string) map[string][]any {
	t.Helper()
	out := map[string][]any{}
	for line := range strings.Lines(rows) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		for k, v := range row {
			out[k] = append(out[k], v)
		}
	}
	return out
}

// A byte of a page in DELTA_BYTE_ARRAY that is another makes the file corrupt or other values of it, or more memory is needed than there is: never a panic.
func TestParquetDeltaDamaged(t *testing.T) {
	whole, err := os.ReadFile("testdata/odd/flba_delta_byte_array.parquet")
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for i := range len(whole) - 8 {
		b := slices.Clone(whole)
		b[i] ^= 0x55
		sp := blobio.NewClient(blobio.ClientOptions{})
		if err := sp.Put(t.Context(), "mem://delta-damaged/a.parquet", b); err != nil {
			t.Fatal(err)
		}
		src, err := fileio.OpenSource(t.Context(), sp, []string{"mem://delta-damaged/a.parquet"}, fileio.SourceOptions{InProcess: true})
		if err == nil {
			for err == nil {
				_, err = src.Next(t.Context())
			}
			src.Close()
		}
		if errors.Is(err, corrupt.ErrCorrupt) || errors.Is(err, corrupt.ErrUnsupported) {
			failed++
		} else if err != io.EOF {
			t.Errorf("byte %d: %v", i, err)
		}
		if err := sp.Delete(t.Context(), "mem://delta-damaged/a.parquet", ""); err != nil {
			t.Fatal(err)
		}
		sp.Close()
	}
	if failed < len(whole)/4 {
		t.Errorf("%d of %d damaged files are refused", failed, len(whole))
	}
}
