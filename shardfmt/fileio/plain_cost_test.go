package fileio

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
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
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
)

// repeat are arrays of n values that share one of width bytes, one for each way in which Arrow shares values.
func repeat(t *testing.T, n, width int) map[string]arrow.Array {
	t.Helper()
	const mem = "x"
	text := array.NewStringBuilder(memory.DefaultAllocator)
	text.Append(strings.Repeat(mem, width))
	value := text.NewArray()
	zeros := memory.NewBufferBytes(make([]byte, 16*n))
	codes := array.NewData(arrow.PrimitiveTypes.Int8, n, []*memory.Buffer{nil, zeros}, nil, 0, 0)
	coded := array.NewDictionaryArray(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, array.NewInt8Data(codes), value)

	ends := array.NewInt32Builder(memory.DefaultAllocator)
	ends.Append(int32(n))
	runs := array.NewRunEndEncodedArray(ends.NewArray(), value, n, 0)

	views := make([]arrow.ViewHeader, n)
	for i := range views {
		views[i].SetIndexOffset(0, 0)
		views[i].SetBytes([]byte(strings.Repeat(mem, width)))
		views[i].SetIndexOffset(0, 0)
	}
	texts := array.NewData(arrow.BinaryTypes.StringView, n, []*memory.Buffer{nil, memory.NewBufferBytes(arrow.ViewHeaderTraits.CastToBytes(views)),
		memory.NewBufferBytes([]byte(strings.Repeat(mem, width)))}, nil, 0, 0)

	items := array.NewData(arrow.PrimitiveTypes.Int64, width/8, []*memory.Buffer{nil, memory.NewBufferBytes(make([]byte, width))}, nil, 0, 0)
	sizes := make([]int32, n)
	for i := range sizes {
		sizes[i] = int32(width / 8)
	}
	lists := array.NewData(arrow.ListViewOf(arrow.PrimitiveTypes.Int64), n, []*memory.Buffer{nil, zeros, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(sizes))},
		[]arrow.ArrayData{items}, 0, 0)

	dense := arrow.DenseUnionOf([]arrow.Field{{Name: "a", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "b", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, []arrow.UnionTypeCode{0, 1})
	none := array.NewInt64Builder(memory.DefaultAllocator).NewArray()
	variants := array.NewData(dense, n, []*memory.Buffer{nil, memory.NewBufferBytes(make([]byte, n)), zeros}, []arrow.ArrayData{value.Data(), none.Data()}, 0, 0)

	offsets := make([]int64, n+1)
	for i := range offsets {
		offsets[i] = int64(i)
	}
	listOf := func(a arrow.Array) arrow.Array {
		return array.MakeFromData(array.NewData(arrow.LargeListOf(a.DataType()), n, []*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(offsets))},
			[]arrow.ArrayData{a.Data()}, 0, 0))
	}
	out := map[string]arrow.Array{
		"codes": coded, "runs": runs, "text views": array.MakeFromData(texts), "list views": array.MakeFromData(lists), "union offsets": array.MakeFromData(variants),
	}
	for name, a := range maps.Clone(out) {
		out["list of "+name] = listOf(a)
		s := arrow.StructOf(arrow.Field{Name: "m", Type: a.DataType(), Nullable: true})
		out["struct of "+name] = array.MakeFromData(array.NewData(s, n, []*memory.Buffer{nil}, []arrow.ArrayData{a.Data()}, 0, 0))
	}
	return out
}

func batchOf(a arrow.Array) arrow.RecordBatch {
	s := arrow.NewSchema([]arrow.Field{{Name: "a", Type: a.DataType(), Nullable: true}}, nil)
	return array.NewRecordBatch(s, []arrow.Array{a}, int64(a.Len()))
}

// The cost of rows is at least what they take once they are imported, for each range of them, and is no guess without bounds.
func TestPlainCost(t *testing.T) {
	const n, width = 40, 1 << 12
	for name, a := range repeat(t, n, width) {
		batch := batchOf(a)
		if err := arrowtype.Validate(batch); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		found, _, err := arrowtype.FromArrow(batch.Schema())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		im, err := arrowtype.NewImporter(batch.Schema(), found, arrowtype.ImportOptions{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, r := range [][2]int64{{0, 1}, {0, n}, {7, 9}, {n - 1, n}, {3, 3}} {
			part := batch.NewSlice(r[0], r[1])
			plain, err := im.Import(part)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			cost, err := batchCost(batch)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			sliced, err := batchCost(part)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			rows := int(r[1] - r[0])
			got := cost.between(int(r[0]), int(r[1]))
			if least := int64(rows) * width; got < least || got > 2*least+int64(rows)*1000 {
				t.Errorf("%s: rows %v cost %d, %d at least", name, r, got, least)
			}
			if again := sliced.upTo(rows); again != got {
				t.Errorf("%s: rows %v cost %d, and %d as a slice", name, r, got, again)
			}
			if plain.NumRows() != int64(rows) {
				t.Errorf("%s: %d rows", name, plain.NumRows())
			}
		}
	}
}

// Long arrays, whose sums are not all kept, cost the same; nested in one another they are refused.
func TestPlainCostOfLongArrays(t *testing.T) {
	const n, width = denseValues + 1000, 64
	all := repeat(t, n, width)
	for _, name := range []string{"codes", "text views", "list of codes"} {
		c, err := batchCost(batchOf(all[name]))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		one := c.upTo(1)
		for _, i := range []int{0, 1, blockValues - 1, blockValues, blockValues + 1, n - 1, n} {
			if got := c.upTo(i); got != int64(i)*one {
				t.Errorf("%s: %d values cost %d, one costs %d", name, i, got, one)
			}
		}
	}
	views := all["list views"].Data()
	nested := array.NewData(arrow.ListViewOf(views.DataType()), n, []*memory.Buffer{nil, views.Buffers()[1], views.Buffers()[1]}, []arrow.ArrayData{views}, 0, 0)
	if _, err := batchCost(batchOf(array.MakeFromData(nested))); !errors.Is(err, errCost) {
		t.Error(err)
	}
}

// drain reads a stream with little memory, and gives its rows, and the most bytes of memory of all batches.
func drain(t *testing.T, stream []byte, limit int64) (rows, most int64, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in.arrows")
	if err := os.WriteFile(path, stream, 0o600); err != nil {
		t.Fatal(err)
	}
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	src, err := OpenSource(context.Background(), sp, []string{path}, SourceOptions{MaxMemory: limit, Warn: func(string) {}})
	if err != nil {
		return 0, 0, err
	}
	defer src.Close()
	for {
		b, err := src.Next(context.Background())
		if err == io.EOF {
			return rows, most, nil
		}
		if err != nil {
			return rows, most, err
		}
		rows += b.NumRows()
		size := int64(0)
		for _, c := range b.Columns() {
			size += storedBytes(c.Data())
		}
		most = max(most, size)
		b.Release()
	}
}

// Streams of some kilobytes that stand for gigabytes are read in batches within the memory, or refused, whatever shares the values.
func TestUnpackingIsBounded(t *testing.T) {
	const limit = 2 << 20
	for name, c := range map[string]struct {
		n, width int
		refused  bool
	}{
		"cut into batches":    {300, 32 << 10, false},
		"more than is worked": {4000, 64 << 10, true},
	} {
		for kind, a := range repeat(t, c.n, c.width) {
			var out bytes.Buffer
			w := ipc.NewWriter(&out, ipc.WithSchema(batchOf(a).Schema()), ipc.WithZstd())
			if err := errors.Join(w.Write(batchOf(a)), w.Close()); err != nil {
				t.Fatal(err)
			}
			rows, most, err := drain(t, out.Bytes(), limit)
			switch {
			case c.refused && !errors.Is(err, corrupt.ErrCorrupt):
				t.Errorf("%s, %s: %d rows, %v", kind, name, rows, err)
			case !c.refused && (err != nil || rows != int64(c.n)):
				t.Errorf("%s, %s: %d rows, %v", kind, name, rows, err)
			case most > limit:
				t.Errorf("%s, %s: a batch of %d bytes", kind, name, most)
			}
		}
	}
	for kind, a := range repeat(t, 1, 4<<20) { // one record that is larger than the memory
		if kind == "struct of text views" || kind == "text views" || kind == "list views" {
			continue // their message is too large by itself
		}
		var out bytes.Buffer
		w := ipc.NewWriter(&out, ipc.WithSchema(batchOf(a).Schema()))
		if err := errors.Join(w.Write(batchOf(a)), w.Close()); err != nil {
			t.Fatal(err)
		}
		if rows, _, err := drain(t, out.Bytes(), limit); !errors.Is(err, corrupt.ErrCorrupt) {
			t.Errorf("%s of one record: %d rows, %v", kind, rows, err)
		}
	}
}

// Files of 440 to 792 bytes that took gigabytes: one list of dictionary codes, lists that overlap, texts that overlap.
func TestSmallArrowBombs(t *testing.T) {
	files, err := filepath.Glob("testdata/bombs/*.arrows")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		rows, most, err := drain(t, data, 16<<20)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, corrupt.ErrCorrupt) || most > 16<<20 || int64(after.HeapSys)-int64(before.HeapSys) > 512<<20 {
			t.Errorf("%s: %d rows, batches of up to %d bytes, %d bytes of heap, %v", file, rows, most, int64(after.HeapSys)-int64(before.HeapSys), err)
		}
	}
}
