package vparquet

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// everyType has each type at the top, and each way of nesting.
const everyType = `bool: Boolean, i8: Int8, i16: Int16, i32: Int32, i64: Int64, u8: UInt8, u16: UInt16, u32: UInt32, u64: UInt64,
	f32: Float32, f64: Float64, s: String, b: Binary, fsb: FixedSizeBinary(3), g: Guid, t: DateTime, span: TimeSpan, d: Decimal, dyn: Dynamic,
	l: List<Int64>, ls: List<String>, ll: List<List<Int32>>, fl: FixedSizeList(2)<Float32>, m: Map<String, Int32>, ml: Map<Int64, List<String>>,
	st: Struct<x: Int64, y: String, z: Struct<w: Boolean, v: Decimal>>, lst: List<Struct<p: Float64, q: List<String>, r: Map<String, Struct<k: DateTime>>>>,
	u: Union<a: Int64, b: String, c: List<Int32>>, us: Struct<n: Union<Int64, Struct<e: String, f: Guid>>>, lu: List<Union<a: Boolean, b: Decimal>>`

func parseSchema(t testing.TB, text string) *schema.Schema {
	t.Helper()
	s, err := schema.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// filler appends random values to builders.
type filler struct {
	r     *rand.Rand
	nulls float64
}

func (f *filler) fill(b array.Builder, n *schema.Node) {
	if n.Basic != schema.Union && n.Nullable && f.r.Float64() < f.nulls {
		b.AppendNull()
		return
	}
	switch v := b.(type) {
	case *array.StructBuilder:
		v.Append(true)
		for i, c := range n.Children {
			f.fill(v.FieldBuilder(i), c)
		}
	case *array.LargeListBuilder:
		v.Append(true)
		for range f.r.IntN(4) {
			f.fill(v.ValueBuilder(), n.Children[0])
		}
	case *array.FixedSizeListBuilder:
		v.Append(true)
		for range n.FixedSize {
			f.fill(v.ValueBuilder(), n.Children[0])
		}
	case *array.MapBuilder:
		v.Append(true)
		key := *n.Children[0]
		key.Nullable = false
		for j := range f.r.IntN(3) {
			if text, ok := v.KeyBuilder().(*array.LargeStringBuilder); ok {
				text.Append(fmt.Sprint(j, " ", f.r.IntN(100))) // readers refuse equal keys
			} else {
				f.fill(v.KeyBuilder(), &key)
			}
			f.fill(v.ItemBuilder(), n.Children[1])
		}
	case *array.SparseUnionBuilder:
		u := arrowtype.UnionBuilderOf(v, len(n.Children))
		i := f.r.IntN(len(n.Children))
		u.Append(i)
		f.fill(u.Variants[i], n.Children[i])
	case *extensions.UUIDBuilder:
		v.AppendBytes([16]byte(binaryOf(f.r, 16)))
	case *array.ExtensionBuilder:
		f.fillStorage(v.StorageBuilder(), n)
	default:
		f.fillStorage(b, n)
	}
}

func (f *filler) fillStorage(b array.Builder, n *schema.Node) {
	r := f.r
	switch v := b.(type) {
	case *array.BooleanBuilder:
		v.Append(r.IntN(2) == 0)
	case *array.Int8Builder:
		v.Append(int8(r.Uint32()))
	case *array.Int16Builder:
		v.Append(int16(r.Uint32()))
	case *array.Int32Builder:
		v.Append(int32(r.Uint32()))
	case *array.Int64Builder:
		i := int64(r.Uint64())
		if n.Basic == schema.DateTime {
			i = epochTicks + r.Int64N(1<<62) - 1<<61
			if r.IntN(2) == 0 {
				i = r.Int64N(epochTicks)
			}
		}
		v.Append(i)
	case *array.Uint8Builder:
		v.Append(uint8(r.Uint32()))
	case *array.Uint16Builder:
		v.Append(uint16(r.Uint32()))
	case *array.Uint32Builder:
		v.Append(r.Uint32())
	case *array.Uint64Builder:
		v.Append(r.Uint64())
	case *array.Float32Builder:
		v.Append(r.Float32() - 0.5)
	case *array.Float64Builder:
		v.Append(r.NormFloat64())
	case *array.LargeStringBuilder:
		v.Append(strings.Repeat("wörd ", r.IntN(4)) + fmt.Sprint(r.IntN(1000)))
	case *array.BinaryBuilder:
		switch {
		case n.IsDynamic() && r.IntN(3) > 0:
			v.Append([]byte(`{"a": [1, ` + fmt.Sprint(r.IntN(100)) + `]}`))
		default:
			v.Append(binaryOf(r, r.IntN(9)))
		}
	case *array.FixedSizeBinaryBuilder:
		if n.IsDecimal() {
			d, _ := decimal.FromInt64(r.Int64N(1e12)-5e11, r.IntN(5))
			v.Append(decimalBytes(d))
			return
		}
		v.Append(binaryOf(r, int(n.FixedSize)))
	default:
		panic(fmt.Sprintf("%T", b))
	}
}

func decimalBytes(d decimal.Value) []byte {
	low, high := d.Words()
	var b [16]byte
	for i := range 8 {
		b[i], b[8+i] = byte(low>>(8*i)), byte(high>>(8*i))
	}
	return b[:]
}

func binaryOf(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// randomBatch makes rows of a schema.
func randomBatch(s *schema.Schema, f *filler, rows int) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
	for range rows {
		for i, n := range s.Fields {
			f.fill(b.Field(i), n)
		}
	}
	return b.NewRecordBatch()
}

// writeShard writes batches, each a stripe.
func writeShard(t testing.TB, c *blobio.Client, url string, s *schema.Schema, batches ...arrow.RecordBatch) *shardfmt.Shard {
	t.Helper()
	ctx := context.Background()
	w, err := shardfmt.NewWriter(ctx, c, url, s, shardfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if err = w.Write(ctx, b); err == nil {
			err = w.EndStripe(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(ctx); err != nil {
		t.Fatal(err)
	}
	return openShard(t, c, url)
}

func openShard(t testing.TB, c *blobio.Client, url string) *shardfmt.Shard {
	t.Helper()
	shard, err := shardfmt.Open(context.Background(), c, url, shardfmt.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return shard
}

func openFile(t testing.TB, shard *shardfmt.Shard, o Options) *File {
	t.Helper()
	f, err := Open(context.Background(), shard, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// whole reads all bytes of a file.
func whole(t testing.TB, f *File) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f.WriteRange(context.Background(), &b, 0, f.Size()); err != nil {
		t.Fatal(err)
	}
	if int64(b.Len()) != f.Size() {
		t.Fatalf("%d bytes, the size is %d", b.Len(), f.Size())
	}
	return b.Bytes()
}

// expected is what a reader must get for value i of an array of a shard.
func expected(a arrow.Array, n *schema.Node, i int) any {
	if arrowtype.IsNull(a, i) {
		return nil
	}
	if e, ok := a.(array.ExtensionArray); ok {
		a = e.Storage()
	}
	switch v := a.(type) {
	case *array.Struct:
		out := map[string]any{}
		for k, c := range n.Children {
			if c.Basic != schema.Unit { // Parquet has none
				out[c.Name] = expected(v.Field(k), c, i)
			}
		}
		return out
	case *array.LargeList:
		start, end := v.ValueOffsets(i)
		return expectedItems(v.ListValues(), n.Children[0], start, end)
	case *array.FixedSizeList:
		start, end := v.ValueOffsets(i)
		return expectedItems(v.ListValues(), n.Children[0], start, end)
	case *array.Map:
		start, end := v.ValueOffsets(i)
		out := []any{}
		for j := start; j < end; j++ {
			out = append(out, map[string]any{"key": expected(v.Keys(), n.Children[0], int(j)), "value": expected(v.Items(), n.Children[1], int(j))})
		}
		return out
	case *array.SparseUnion:
		u, _ := arrowtype.UnionOf(v, len(n.Children))
		out := map[string]any{}
		for k, c := range n.Children {
			name := c.Name
			if name == "" {
				name = fmt.Sprintf("variant%d", k)
			}
			out[name] = nil
			if u.Variant(i) == k {
				out[name] = expected(u.Fields[k], c, i)
			}
		}
		return out
	}
	return expectedLeaf(a, n, i)
}

func expectedItems(a arrow.Array, n *schema.Node, start, end int64) any {
	out := []any{}
	for j := start; j < end; j++ {
		out = append(out, expected(a, n, int(j)))
	}
	return out
}

func expectedLeaf(a arrow.Array, n *schema.Node, i int) any {
	switch v := a.(type) {
	case *array.Int8:
		return fmt.Sprint(v.Value(i))
	case *array.Uint8:
		return fmt.Sprint(v.Value(i))
	case *array.Int64:
		if n.Basic == schema.DateTime {
			m := floorDiv(v.Value(i)-epochTicks, 10)
			return fmt.Sprint("us ", m)
		}
		return fmt.Sprint(v.Value(i))
	case *array.FixedSizeBinary:
		if n.IsDecimal() {
			return decimal.From(v.Value(i)).String()
		}
		return fmt.Sprintf("%x", v.Value(i))
	case *array.LargeBinary:
		if n.IsDynamic() && !json.Valid(v.Value(i)) {
			return `"` + base64.StdEncoding.EncodeToString(v.Value(i)) + `"`
		}
		if n.IsDynamic() {
			return string(v.Value(i))
		}
		return fmt.Sprintf("%x", v.Value(i))
	case *array.LargeString:
		return v.Value(i)
	case *array.Float32:
		return fmt.Sprint(math.Float32bits(v.Value(i)))
	case *array.Float64:
		return fmt.Sprint(math.Float64bits(v.Value(i)))
	}
	return a.ValueStr(i)
}

// floorDiv divides in another way than the code under test.
func floorDiv(v, by int64) int64 { return (v - ((v%by)+by)%by) / by }

// actual is value i of an array that a Parquet reader made.
func actual(a arrow.Array, i int) any {
	if a.IsNull(i) {
		return nil
	}
	if e, ok := a.(array.ExtensionArray); ok {
		a = e.Storage()
	}
	switch v := a.(type) {
	case *array.Struct:
		out := map[string]any{}
		for k := range v.NumField() {
			out[v.DataType().(*arrow.StructType).Field(k).Name] = actual(v.Field(k), i)
		}
		return out
	case *array.Map:
		start, end := v.ValueOffsets(i)
		out := []any{}
		for j := start; j < end; j++ {
			out = append(out, map[string]any{"key": actual(v.Keys(), int(j)), "value": actual(v.Items(), int(j))})
		}
		return out
	case *array.List:
		start, end := v.ValueOffsets(i)
		out := []any{}
		for j := start; j < end; j++ {
			out = append(out, actual(v.ListValues(), int(j)))
		}
		return out
	case *array.Timestamp:
		return fmt.Sprint("us ", int64(v.Value(i)))
	case *array.FixedSizeBinary:
		return fmt.Sprintf("%x", v.Value(i))
	case *array.Binary:
		return fmt.Sprintf("%x", v.Value(i))
	case *array.String:
		return v.Value(i)
	case *array.Float32:
		return fmt.Sprint(math.Float32bits(v.Value(i)))
	case *array.Float64:
		return fmt.Sprint(math.Float64bits(v.Value(i)))
	}
	return a.ValueStr(i)
}

// checkRows reads a file by arrow-go and compares every value with those of the batches.
func checkRows(t *testing.T, b []byte, s *schema.Schema, batches ...arrow.RecordBatch) {
	t.Helper()
	table := readTable(t, b)
	rows := int64(0)
	for _, b := range batches {
		rows += b.NumRows()
	}
	if table.NumRows() != rows {
		t.Fatalf("%d rows, expected %d", table.NumRows(), rows)
	}
	for c, n := range s.Fields {
		if n.Basic == schema.Unit {
			continue
		}
		col := int(table.Schema().FieldIndices(n.Name)[0])
		at := 0
		var got arrow.Array
		chunks := table.Column(col).Data().Chunks()
		for _, b := range batches {
			for i := range int(b.NumRows()) {
				for got == nil || at == got.Len() {
					got, chunks, at = chunks[0], chunks[1:], 0
				}
				if want, have := expected(b.Column(c), n, i), actual(got, at); !reflect.DeepEqual(want, have) {
					t.Fatalf("%s, row %d: %v, expected %v", n.Name, i, have, want)
				}
				at++
			}
		}
	}
}

// readTable reads a file by arrow-go.
func readTable(t *testing.T, b []byte) arrow.Table {
	t.Helper()
	r, err := file.NewParquetReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	pr, err := pqarrow.NewFileReader(r, pqarrow.ArrowReadProperties{BatchSize: 1 << 20}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	table, err := pr.ReadTable(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return table
}
