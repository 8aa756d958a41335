package fileio

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
)

// oneLine joins the lines of rows.
func oneLine(rows string) string {
	return strings.Join(strings.Split(strings.TrimSpace(rows), "\n"), " ")
}

// writtenBatches writes batches as Parquet, and gives the rows that come back and what was lost.
func writtenBatches(t *testing.T, s *arrow.Schema, batches ...arrow.RecordBatch) (rows string, report *arrowtype.Report) {
	t.Helper()
	var out bytes.Buffer
	sink, err := openBatchSink(Parquet, &out, s, SinkOptions{Exact: true})
	if err != nil {
		t.Error(err)
		return "", &arrowtype.Report{}
	}
	for _, b := range batches {
		if err := sink.Write(b); err != nil {
			t.Error(err)
			return "", sink.Report()
		}
	}
	if err := sink.Close(); err != nil {
		t.Error(err)
		return "", sink.Report()
	}
	at := filepath.Join(t.TempDir(), "a.parquet")
	if err := os.WriteFile(at, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	rows, err = rowsIn(t, SourceOptions{}, at)
	if err != nil {
		t.Error(err)
	}
	return oneLine(rows), sink.Report()
}

// Types that Parquet lacks become those that it has, by themselves and inside of others, and the report reports it.
func TestParquetTypesThatItLacks(t *testing.T) {
	list := func(t arrow.DataType) arrow.DataType { return arrow.ListOf(t) }
	for _, c := range []struct {
		typ        arrow.DataType
		rows, want string
		lost       string
	}{
		{arrow.FixedWidthTypes.Duration_us, `[{"v":1},{"v":-1},{"v":null}]`, `{"v":"00:00:00.0000010"} {"v":"-00:00:00.0000010"} {"v":null}`, "KustoTimeSpan"},
		{arrow.FixedWidthTypes.Duration_s, `[{"v":3600}]`, `{"v":"01:00:00"}`, "KustoTimeSpan"},
		{arrow.FixedWidthTypes.Duration_ns, `[{"v":700}]`, `{"v":"00:00:00.0000007"}`, "KustoTimeSpan"},
		{arrow.BinaryTypes.StringView, `[{"v":"x"},{"v":null},{"v":"a text of more than twelve bytes"}]`, `{"v":"x"} {"v":null} {"v":"a text of more than twelve bytes"}`, "view"},
		{arrow.BinaryTypes.BinaryView, `[{"v":"eA=="},{"v":null}]`, `{"v":"eA=="} {"v":null}`, "view"},
		{&arrow.Decimal32Type{Precision: 5, Scale: 2}, `[{"v":"1.25"},{"v":null}]`, `{"v":"1.25"} {"v":null}`, "32 bits"},
		{&arrow.Decimal64Type{Precision: 15, Scale: 3}, `[{"v":"-123456789012.125"}]`, `{"v":"-123456789012.125"}`, "64 bits"},
		{arrow.FixedWidthTypes.MonthInterval, `[{"v":{"months":14}},{"v":null}]`, `{"v":14} {"v":null}`, "months"},
		{arrow.FixedWidthTypes.DayTimeInterval, `[{"v":{"days":1,"milliseconds":5}},{"v":null}]`, `{"v":{"days":1,"milliseconds":5}} {"v":null}`, "struct of both"},
		{arrow.FixedWidthTypes.MonthDayNanoInterval, `[{"v":{"months":1,"days":2,"nanoseconds":3}}]`, `{"v":{"months":1,"days":2,"nanoseconds":3}}`, "of the three"},
		{arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), `[{"v":[1,2]},{"v":null},{"v":[3,4]}]`, `{"v":[1.0,2.0]} {"v":null} {"v":[3.0,4.0]}`, "fixed-size list"},
		{arrow.ListViewOf(arrow.PrimitiveTypes.Int64), `[{"v":[1,2]},{"v":null},{"v":[]}]`, `{"v":[1,2]} {"v":null} {"v":[]}`, "view of a list"},
		{arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String), `[{"v":"a"},{"v":"a"},{"v":null}]`, `{"v":"a"} {"v":"a"} {"v":null}`, "runs"},
		{list(arrow.BinaryTypes.StringView), `[{"v":["x",null]},{"v":null}]`, `{"v":["x",null]} {"v":null}`, "view"},
		{arrow.StructOf(arrow.Field{Name: "d", Type: &arrow.Decimal64Type{Precision: 12, Scale: 1}, Nullable: true}), `[{"v":{"d":"2.5"}},{"v":null}]`, `{"v":{"d":"2.5"}} {"v":null}`, "64 bits"},
		{list(arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int32)), `[{"v":[[1,2],null]},{"v":null}]`, `{"v":[[1,2],null]} {"v":null}`, "fixed-size list"},
		{arrow.MapOf(arrow.BinaryTypes.String, arrow.FixedWidthTypes.Duration_s), `[{"v":[{"key":"a","value":1}]}]`, `{"v":[{"key":"a","value":"00:00:01"}]}`, "KustoTimeSpan"},
	} {
		s := arrow.NewSchema([]arrow.Field{{Name: "v", Type: c.typ, Nullable: true}}, nil)
		b, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader(c.rows))
		if err != nil {
			t.Errorf("%s: %v", c.typ, err)
			continue
		}
		got, report := writtenBatches(t, s, b)
		if got != c.want || !strings.Contains(report.String(), c.lost) {
			t.Errorf("%s: %s, want %s; lost %q", c.typ, got, c.want, report)
		}
	}
}

// NaNs keep their bits, whatever else is in their column.
func TestParquetNaNs(t *testing.T) {
	patterns := []uint64{0x7FF8000000000000, 0xFFF8000000000000, 0x7FF8000000000001, math.Float64bits(1), math.Float64bits(2)}
	b, l := array.NewFloat64Builder(memory.DefaultAllocator), array.NewListBuilder(memory.DefaultAllocator, arrow.PrimitiveTypes.Float64)
	f := array.NewFloat32Builder(memory.DefaultAllocator)
	for i := range 1000 {
		v := math.Float64frombits(patterns[i%len(patterns)])
		b.Append(v)
		l.Append(true)
		l.ValueBuilder().(*array.Float64Builder).Append(v)
		f.Append(math.Float32frombits([]uint32{0x7FC00000, 0xFFC00000, 0x3F800000}[i%3]))
	}
	s := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Float64}, {Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Float64)}, {Name: "f", Type: arrow.PrimitiveTypes.Float32}}, nil)
	var out bytes.Buffer
	sink, err := openBatchSink(Parquet, &out, s, SinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.Write(array.NewRecordBatch(s, []arrow.Array{b.NewArray(), l.NewArray(), f.NewArray()}, 1000)); err != nil {
		t.Fatal(err)
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(t.TempDir(), "a.parquet")
	if err := os.WriteFile(at, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	src, err := OpenBatches(t.Context(), blobio.NewClient(blobio.ClientOptions{}), "file://"+at, SourceOptions{Format: Parquet})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	got, err := src.Next(t.Context())
	if err != nil || got.NumRows() != 1000 {
		t.Fatal(got, err)
	}
	x, items, short := got.Column(0).(*array.Float64), got.Column(1).(*array.List).ListValues().(*array.Float64), got.Column(2).(*array.Float32)
	for i := range 1000 {
		if want := patterns[i%len(patterns)]; math.Float64bits(x.Value(i)) != want || math.Float64bits(items.Value(i)) != want {
			t.Fatalf("row %d: %x and %x, want %x", i, math.Float64bits(x.Value(i)), math.Float64bits(items.Value(i)), want)
		}
		if want := []uint32{0x7FC00000, 0xFFC00000, 0x3F800000}[i%3]; math.Float32bits(short.Value(i)) != want {
			t.Fatalf("row %d: %x, want %x", i, math.Float32bits(short.Value(i)), want)
		}
	}
}

// Files whose tables could not be written as Parquet: as they are read, and by way of a shard's types.
func TestParquetOfEveryInput(t *testing.T) {
	for name, want := range map[string]string{
		"duration_us.parquet":          `{"d":"00:00:00.0000010"} {"d":"-00:00:00.0000010"} {"d":null}`,
		"duration_pandas.parquet":      `{"td":"01:00:00"} {"td":"02:00:00"} {"td":null}`,
		"fixed_size_list_null.parquet": `{"e":[1.0,2.0]} {"e":null} {"e":[3.0,4.0]}`,
		"string_view_null.parquet":     `{"v":"a"} {"v":null}`,
		"string_view_polars130.arrow":  `{"a":1,"s":"x"} {"a":2,"s":"y"}`,
		"views_polars130.arrow":        `{"a":"x","b":1} {"a":null,"b":2} {"a":"yy","b":3}`,
		"dictionary_null_entry.arrow":  `{"s":"a"} {"s":null} {"s":"c"}`,
		"dictionary_of_lists.arrow":    `{"s":["a"]} {"s":["b","c"]} {"s":["a"]}`,
	} {
		at, err := filepath.Abs(filepath.Join("testdata/files", name))
		if err != nil {
			t.Fatal(err)
		}
		f, _ := formatOf(name)
		src, err := OpenBatches(t.Context(), blobio.NewClient(blobio.ClientOptions{}), "file://"+at, SourceOptions{Format: f})
		if err != nil {
			t.Fatal(name, err)
		}
		b, err := src.Next(t.Context())
		if err != nil {
			t.Fatal(name, err)
		}
		if got, _ := writtenBatches(t, src.Schema(), b); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
		if got := throughShard(t, at); got != want {
			t.Errorf("%s by way of a shard's types: %s, want %s", name, got, want)
		}
	}
}

// throughShard reads a file as records, writes them as Parquet with the types that they came with, and reads them again.
func throughShard(t *testing.T, at string) string {
	t.Helper()
	src, err := OpenSource(t.Context(), blobio.NewClient(blobio.ClientOptions{}), []string{at}, SourceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var out bytes.Buffer
	sink, err := NewSink(Parquet, &out, src.Schema(), SinkOptions{Original: OriginalSchema(src)})
	if err != nil {
		t.Error(at, err)
		return ""
	}
	b, err := src.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	if err := sink.Write(b); err != nil {
		t.Error(at, err)
		return ""
	}
	if err := sink.Close(); err != nil {
		t.Error(at, err)
		return ""
	}
	to := filepath.Join(t.TempDir(), "o.parquet")
	if err := os.WriteFile(to, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := rowsIn(t, SourceOptions{}, to)
	if err != nil {
		t.Error(at, err)
	}
	return oneLine(got)
}
