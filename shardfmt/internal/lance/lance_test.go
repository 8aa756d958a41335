package lance

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// objects numbers the objects of the tests: the memory bucket is one for the process.
var objects atomic.Int64

// store is a client with one object.
func store(t testing.TB, data []byte) (*blobio.Client, string) {
	t.Helper()
	c := blobio.NewClient(blobio.ClientOptions{})
	t.Cleanup(func() { c.Close() })
	url := fmt.Sprintf("mem://lance-test/%d.lance", objects.Add(1))
	if err := c.Put(context.Background(), url, data); err != nil {
		t.Fatal(err)
	}
	return c, url
}

// open opens data as a file.
func open(data []byte) (*File, error) {
	f := &File{src: embedded(data), url: "mem://lance-test/bytes.lance"}
	return f, corrupt.Locate(f.open(context.Background()), f.url, 0)
}

// rowsOf reads rows as JSON has them: see valueOf.
func rowsOf(f *File, o ReadOptions) (rows []map[string]any, err error) {
	ctx := context.Background()
	s, err := f.NewSource(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	for {
		batch, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		for i := range int(batch.NumRows()) {
			row := map[string]any{}
			for c, column := range batch.Columns() {
				row[batch.ColumnName(c)] = valueOf(column, i)
			}
			rows = append(rows, row)
		}
	}
}

// valueOf is a value in the manner of the published vectors: bytes in hex, points in time in milliseconds.
func valueOf(a arrow.Array, i int) any {
	if a.IsNull(i) || a.DataType().ID() == arrow.NULL {
		return nil
	}
	switch a := a.(type) {
	case array.ExtensionArray:
		return valueOf(a.Storage(), i)
	case *array.Struct:
		out := map[string]any{}
		for c, f := range a.DataType().(*arrow.StructType).Fields() {
			out[f.Name] = valueOf(a.Field(c), i)
		}
		return out
	case array.ListLike:
		out := []any{}
		from, to := a.ValueOffsets(i)
		for k := from; k < to; k++ {
			out = append(out, valueOf(a.ListValues(), int(k)))
		}
		return out
	case *array.Dictionary:
		return valueOf(a.Dictionary(), a.GetValueIndex(i))
	case *array.Binary:
		return map[string]any{"hex": hex.EncodeToString(a.Value(i))}
	case *array.BinaryView:
		return map[string]any{"hex": hex.EncodeToString(a.Value(i))}
	case *array.LargeBinary:
		return map[string]any{"hex": hex.EncodeToString(a.Value(i))}
	case *array.FixedSizeBinary:
		return map[string]any{"hex": hex.EncodeToString(a.Value(i))}
	case *array.Boolean:
		return a.Value(i)
	case *array.String:
		return a.Value(i)
	case *array.LargeString:
		return a.Value(i)
	case *array.Date32:
		return json.Number(fmt.Sprint(int64(a.Value(i)) * 86_400_000))
	case *array.Date64:
		return json.Number(fmt.Sprint(int64(a.Value(i))))
	case *array.Timestamp:
		ns := map[arrow.TimeUnit]int64{arrow.Second: 1e9, arrow.Millisecond: 1e6, arrow.Microsecond: 1e3, arrow.Nanosecond: 1}
		return json.Number(fmt.Sprint(int64(a.Value(i)) * ns[a.DataType().(*arrow.TimestampType).Unit] / 1e6))
	case *array.Time32:
		return json.Number(fmt.Sprint(int32(a.Value(i))))
	case *array.Time64:
		return json.Number(fmt.Sprint(int64(a.Value(i))))
	case *array.Uint64:
		if a.Value(i) > 1<<53 {
			return fmt.Sprint(a.Value(i))
		}
	case *array.Float16:
		return json.Number(fmt.Sprint(a.Value(i).Float32()))
	case *array.Float32:
		return json.Number(fmt.Sprint(a.Value(i)))
	case *array.Float64:
		return json.Number(fmt.Sprint(a.Value(i)))
	}
	return json.Number(a.ValueStr(i))
}

// vector is a published file and what it holds.
type vector struct {
	Schema []struct {
		Name, Type string
		Nullable   bool
	}
	Rows []map[string]any
}

func readVector(t testing.TB, name string) (data []byte, v vector) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	base := strings.TrimSuffix(name, ".lance")
	base = strings.TrimSuffix(strings.TrimSuffix(base, "-2.1"), "-2.2") // both versions hold the same rows
	text, err := os.ReadFile(base + ".json")
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return data, v
}

func vectorNames(t testing.TB) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"testdata/vectors/*.lance", "testdata/text/*.lance", "testdata/structural/*.lance"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) < 10 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		names = append(names, found...)
	}
	return names
}

// Every published file holds the rows that stand beside it, whatever the size of batches and windows.
func TestVectorsAreRead(t *testing.T) {
	for _, name := range vectorNames(t) {
		data, want := readVector(t, name)
		f, err := open(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, o := range []ReadOptions{{}, {BatchRows: 1}, {BatchRows: 3, WindowBytes: 1}} {
			got, err := rowsOf(f, o)
			if err != nil || len(got)+len(want.Rows) > 0 && !reflect.DeepEqual(got, want.Rows) {
				t.Errorf("%s, %+v: %v\n got %.300v\nwant %.300v", name, o, err, got, want.Rows)
			}
		}
		for i, column := range want.Schema {
			if got := f.Schema().Field(i); got.Name != column.Name || got.Nullable != column.Nullable {
				t.Errorf("%s: field %d is %v, want %v", name, i, got, column)
			}
		}
		r, err := f.Verify(context.Background(), fileformat.VerifyOptions{})
		if err != nil || !r.OK {
			t.Errorf("%s: verify: %+v, %v", name, r, err)
		}
		if _, err := f.Inspect(context.Background(), 3); err != nil {
			t.Errorf("%s: inspect: %v", name, err)
		}
	}
}

// isTyped reports whether an error reports that the data can't be read, and why.
func isTyped(err error) bool {
	return errors.Is(err, corrupt.ErrCorrupt) || errors.Is(err, corrupt.ErrUnsupported)
}
