package shardfmt

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// costRows are sixteen batches.
const costRows = 16 * DefaultBatchRows

// costColumns are the kinds of columns whose scans are counted, with what a value takes in a batch.
var costColumns = []struct {
	name, typ string
	size      float64
	append    func(r *rand.Rand, row int, b array.Builder)
}{
	{"ids", "Int64", 8, func(_ *rand.Rand, row int, b array.Builder) { b.(*array.Int64Builder).Append(int64(row)) }},
	{"times", "Int64", 8, func(r *rand.Rand, row int, b array.Builder) {
		b.(*array.Int64Builder).Append(int64(row)*10_000 + r.Int64N(2000))
	}},
	{"small", "Int64", 8, func(r *rand.Rand, _ int, b array.Builder) { b.(*array.Int64Builder).Append(r.Int64N(1000)) }},
	{"doubles", "Float64", 8, func(r *rand.Rand, _ int, b array.Builder) { b.(*array.Float64Builder).Append(r.NormFloat64()) }},
	{"few strings", "String", 8 + 7, func(r *rand.Rand, _ int, b array.Builder) {
		b.(*array.LargeStringBuilder).Append(fmt.Sprint("level ", r.IntN(5)))
	}},
	{"strings", "String", 8 + 16, func(r *rand.Rand, _ int, b array.Builder) {
		b.(*array.LargeStringBuilder).Append(fmt.Sprintf("%016x", r.Uint64()))
	}},
	{"decimals", "Decimal", 16, func(r *rand.Rand, _ int, b array.Builder) {
		v, _ := decimal.FromInt64(r.Int64N(11), 2)
		b.(*array.ExtensionBuilder).StorageBuilder().(*array.FixedSizeBinaryBuilder).Append(v[:])
	}},
}

// costShard writes a shard of one column, and reports how many bytes are stored.
func costShard(t *testing.T, client *blobio.Client, typ string, add func(*rand.Rand, int, array.Builder)) (*Shard, float64) {
	t.Helper()
	s, err := schema.Parse("v: " + typ)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(t.Context(), client, "file://"+t.TempDir()+"/s.amudai.shard", s, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
	for row := range costRows {
		add(r, row, b.Field(0))
	}
	if err := w.Write(t.Context(), b.NewRecordBatch()); err != nil {
		t.Fatal(err)
	}
	written, err := w.Close(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shard := open(t, client, written.URL, 0)
	return shard, float64(storedBytes(t, shard, 0, nil))
}

// What a scan allocates: for its values once where batches are kept, not at all where they are released or their memory is used
// again, besides the bytes that are fetched and some objects for each batch. The bounds are half as much again as was counted.
func TestScanAllocates(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	for _, c := range costColumns {
		t.Run(c.name, func(t *testing.T) {
			shard, stored := costShard(t, client, c.typ, c.append)
			for _, way := range []string{"kept", "released", "reused"} {
				scan := func() (batches float64) {
					for b, err := range shard.Scan(context.Background(), ScanOptions{Workers: 1, ReuseBatches: way == "reused"}) {
						if err != nil {
							t.Fatal(err)
						}
						if way == "released" {
							b.Release()
						}
						batches++
					}
					return batches
				}
				scan()
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				batches := scan()
				runtime.ReadMemStats(&after)
				objects := float64(after.Mallocs-before.Mallocs) / batches
				bytes := (float64(after.TotalAlloc-before.TotalAlloc) - stored) / costRows
				most := 1.25*c.size + 1
				if way != "kept" {
					most = 0.25*c.size + 1
				}
				t.Logf("%s: %.1f allocations a batch, %.2f bytes a value of %v besides what is fetched", way, objects, bytes, c.size)
				if objects > 31 || bytes > most {
					t.Errorf("%s: more than 31 allocations a batch, or than %.2f bytes a value", way, most)
				}
			}
		})
	}
}

// A filter decodes its own columns first, and of the others only blocks in which rows are left; counted in bytes of values.
func TestFilterDecodesLittle(t *testing.T) {
	const rows = 8 * DefaultBatchRows
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	s, err := schema.Parse("id: Int64, a: Int64, b: Int64, c: Float64, s: String")
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(t.Context(), client, "file://"+t.TempDir()+"/s.amudai.shard", s, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	build := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
	for i := range rows {
		build.Field(0).(*array.Int64Builder).Append(int64(i))
		text := fmt.Sprintf("%016x", r.Uint64())
		if i >= 40_000 && i < 40_100 {
			text = "needle" + text
		}
		build.Field(1).(*array.Int64Builder).Append(r.Int64N(1000))
		build.Field(2).(*array.Int64Builder).Append(r.Int64N(1 << 40))
		build.Field(3).(*array.Float64Builder).Append(r.NormFloat64())
		build.Field(4).(*array.LargeStringBuilder).Append(text)
	}
	if err := w.Write(t.Context(), build.NewRecordBatch()); err != nil {
		t.Fatal(err)
	}
	written, err := w.Close(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shard := open(t, client, written.URL, 0)
	// Looking at a row is counted as eight bytes, and so is decoding a string.
	const column = 8 * rows
	for _, c := range []struct {
		expr    string
		columns []string
		least   int64 // rows
		most    uint64
	}{
		{"a = 500", []string{}, 200, column + column},
		{"a = 500", []string{"b"}, 200, column + column + column/8},
		{"s LIKE '%needle%'", []string{"c"}, 100, column + column + column/2},
		{"s LIKE '%needle%' AND b >= 0 AND a < 900", []string{"c"}, 70, column + 2*column + column/2},
		{"b < 0", []string{"a", "c"}, 0, 0},
	} {
		for _, workers := range []int{1, 2} {
			b := NewBudget(0)
			var st ScanStats
			for _, err := range shard.Scan(t.Context(), ScanOptions{
				Columns: c.columns, Filter: bind(t, shard, c.expr), Workers: workers, Budget: b, Stats: &st,
			}) {
				if err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("%s, %v: %d bytes", c.expr, c.columns, b.b.Decoded())
			if st.RowsMatched < c.least || b.b.Decoded() > c.most {
				t.Errorf("%s, %v, %d workers: %d rows, %d bytes of values decoded, want at least %d, and at most %d", c.expr, c.columns, workers,
					st.RowsMatched, b.b.Decoded(), c.least, c.most)
			}
		}
	}
}

// A filter that leaves every second row allocates for what comes out, and some objects for each batch and block, however the rows
// that are left lie, and whether values are null or not.
func TestFilterAllocates(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	s, err := schema.Parse("by: Int64, number: Int64, half: Float64, text: String, dense: String")
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(t.Context(), client, "file://"+t.TempDir()+"/s.amudai.shard", s, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 2))
	build := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
	const rows = 4 * DefaultBatchRows
	for range rows {
		build.Field(0).(*array.Int64Builder).Append(r.Int64N(1000))
		build.Field(1).(*array.Int64Builder).Append(r.Int64N(1 << 40))
		if half := build.Field(2).(*array.Float64Builder); r.IntN(2) == 0 {
			half.AppendNull()
		} else {
			half.Append(r.NormFloat64())
		}
		build.Field(3).(*array.LargeStringBuilder).Append(fmt.Sprintf("item %d", r.IntN(1000)))
		build.Field(4).(*array.LargeStringBuilder).Append(fmt.Sprintf("%016x", r.Uint64()))
	}
	if err := w.Write(t.Context(), build.NewRecordBatch()); err != nil {
		t.Fatal(err)
	}
	written, err := w.Close(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shard := open(t, client, written.URL, 0)
	for _, column := range []string{"number", "half", "text", "dense"} {
		scan := func() (n int64) {
			for b, err := range shard.Scan(t.Context(), ScanOptions{Columns: []string{column}, Filter: bind(t, shard, "by < 500"), Workers: 1}) {
				if err != nil {
					t.Fatal(err)
				}
				n += b.NumRows()
			}
			return n
		}
		n := scan()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		scan()
		runtime.ReadMemStats(&after)
		objects := float64(after.Mallocs-before.Mallocs) / (rows / DefaultBatchRows)
		t.Logf("%s: %.0f allocations a batch, %d rows of %d", column, objects, n, rows)
		if n < rows/3 || objects > 300 {
			t.Errorf("%s: %d rows of %d, %.0f allocations a batch", column, n, rows, objects)
		}
	}
}

// What a scan of a file takes again does not grow with the stripe: its bytes are read in pieces into the memory of those before.
func TestScanOfFileTakesLittleMemory(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	shard, _ := writeRandom(t, client, 1, 80*DefaultBatchRows, 1) // 42 MB
	for _, filter := range []string{"", "c0 > 0"} {
		o := ScanOptions{Workers: 1, ReuseBatches: true}
		if filter != "" {
			o.Filter = bind(t, shard, filter)
		}
		runtime.GC()
		runtime.GC() // nothing is left of scans before
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		rows := int64(0)
		for b, err := range shard.Scan(t.Context(), o) {
			if err != nil {
				t.Fatal(err)
			}
			rows += b.NumRows()
		}
		runtime.ReadMemStats(&after)
		// A window of one batch with its space, a batch of values, a block that is kept, each as often as the pool may let go of it.
		const most = 4 * (2 + 1 + 1) * 8 * DefaultBatchRows
		if got := after.TotalAlloc - before.TotalAlloc; rows == 0 || got > most {
			t.Errorf("filter %q: %d rows, %d bytes were taken, %d at most are wanted", filter, rows, got, most)
		}
	}
}

// Rows that range indexes leave here and there come out in batches of the usual size, not in one for each range.
func TestFilterMakesFewBatches(t *testing.T) {
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	s, err := schema.Parse("by: Int64, value: Int64")
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(t.Context(), client, "mem://few/s.amudai.shard", s, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	build := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
	const rows, every = 8 * DefaultBatchRows, 5000
	for i := range rows {
		build.Field(0).(*array.Int64Builder).Append(int64(i % every))
		build.Field(1).(*array.Int64Builder).Append(int64(i) * 0x9E3779B97F4A7C1)
	}
	if err := w.Write(t.Context(), build.NewRecordBatch()); err != nil {
		t.Fatal(err)
	}
	written, err := w.Close(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shard := open(t, client, written.URL, 0)
	for _, workers := range []int{1, 3} {
		batches, found := 0, 0
		o := ScanOptions{Columns: []string{"value"}, Filter: bind(t, shard, "by = 17"), Workers: workers}
		for b, err := range shard.Scan(t.Context(), o) {
			if err != nil {
				t.Fatal(err)
			}
			batches++
			for i, v := range b.Column(0).(*array.Int64).Int64Values() {
				if want := int64(17+(found+i)*every) * 0x9E3779B97F4A7C1; v != want {
					t.Fatalf("row %d is %d, %d is wanted", found+i, v, want)
				}
			}
			found += int(b.NumRows())
		}
		if found != (rows-18)/every+1 || batches > rows/DefaultBatchRows+1 {
			t.Errorf("%d workers: %d rows in %d batches", workers, found, batches)
		}
	}
}
