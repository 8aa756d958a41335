package lance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// columns are types with some values each, as JSON.
var columns = []struct {
	t      arrow.DataType
	values string
}{
	{arrow.Null, `null`},
	{arrow.FixedWidthTypes.Boolean, `true, false, false`},
	{arrow.PrimitiveTypes.Int8, `-128, 127, 0`}, {arrow.PrimitiveTypes.Uint8, `0, 255`},
	{arrow.PrimitiveTypes.Int16, `-32768, 32767`}, {arrow.PrimitiveTypes.Uint16, `0, 65535`},
	{arrow.PrimitiveTypes.Int32, `-2147483648, 2147483647`}, {arrow.PrimitiveTypes.Uint32, `4294967295, 1`},
	{arrow.PrimitiveTypes.Int64, `-9223372036854775808, 9223372036854775807`}, {arrow.PrimitiveTypes.Uint64, `18446744073709551615, 2`},
	{arrow.FixedWidthTypes.Float16, `1.5, -2`}, {arrow.PrimitiveTypes.Float32, `0.1, -3e38`}, {arrow.PrimitiveTypes.Float64, `0.1, 1e308`},
	{arrow.BinaryTypes.String, `"", "wörld", "a", "bc"`}, {arrow.BinaryTypes.LargeString, `"", "large"`},
	{arrow.BinaryTypes.Binary, `"", "AAEC", "//79"`}, {arrow.BinaryTypes.LargeBinary, `"AAEC", ""`},
	{&arrow.FixedSizeBinaryType{ByteWidth: 3}, `"AAEC", "//79"`},
	{arrow.FixedWidthTypes.Date32, `"2026-11-22", "0001-01-01"`}, {arrow.FixedWidthTypes.Date64, `"2026-11-22"`},
	{arrow.FixedWidthTypes.Time32s, `"23:59:59"`}, {arrow.FixedWidthTypes.Time64ns, `"01:02:03.000000004"`},
	{&arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "Europe/Paris"}, `"2026-11-22T08:00:00.000000001Z"`},
	{&arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "+05:30"}, `"2026-11-22T08:00:00.000001Z"`},
	{&arrow.TimestampType{Unit: arrow.Second}, `"1900-01-01 00:00:00"`},
	{arrow.FixedWidthTypes.Duration_us, `"17us"`},
	{&arrow.Decimal128Type{Precision: 38, Scale: 4}, `"12345678901234567890.1234", "-1.0000"`},
	{&arrow.Decimal256Type{Precision: 76, Scale: 2}, `"1234567890123456789012345678901234567890123456.12"`},
	{arrow.ListOf(arrow.PrimitiveTypes.Int32), `[1, null, 3], [], [4]`},
	{arrow.LargeListOf(arrow.BinaryTypes.String), `["a", null], [], ["", "b", "c"]`},
	{arrow.ListOf(arrow.ListOf(arrow.PrimitiveTypes.Int16)), `[[1], null, [], [2, null]], [], [[3, 4]]`},
	{arrow.ListOf(arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, arrow.Field{Name: "l", Type: arrow.ListOf(arrow.FixedWidthTypes.Boolean), Nullable: true})),
		`[{"x": 1, "l": [true, null]}, {"x": null, "l": null}], [], [{"x": 2, "l": []}]`},
	{arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), `[1, null], [2, 3]`},
	{arrow.FixedSizeListOf(3, arrow.FixedSizeListOf(2, arrow.FixedWidthTypes.Boolean)), `[[true, false], [null, true], [false, false]]`},
	{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, `"red", "green", ""`},
	{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint16, ValueType: arrow.PrimitiveTypes.Int64}, `7, 8, -9`},
}

// presence reports which values are null.
var presence = map[string]func(i int) bool{
	"none": func(int) bool { return false }, "some": func(i int) bool { return i%7 == 3 },
	"all": func(int) bool { return true }, "pages": func(i int) bool { return i/200%3 == 1 },
}

// columnOf makes a column of n values.
func columnOf(t testing.TB, typ arrow.DataType, values string, n int, null func(int) bool) arrow.Array {
	t.Helper()
	some, _, err := array.FromJSON(memory.DefaultAllocator, typ, strings.NewReader("["+values+", null]"))
	if err != nil {
		t.Fatalf("%s: %v", typ, err)
	}
	last := some.Len() - 1
	parts := make([]arrow.Array, n)
	for i := range parts {
		k := i % last
		if null(i) {
			k = last
		}
		parts[i] = array.NewSlice(some, int64(k), int64(k+1))
	}
	if n == 0 {
		return array.NewSlice(some, 0, 0)
	}
	all, err := array.Concatenate(parts, memory.DefaultAllocator)
	if err != nil {
		t.Fatalf("%s: %v", typ, err)
	}
	return all
}

// Every type, with nulls in every way, in one page and in many, comes back as it was written.
func TestEveryTypeComesBack(t *testing.T) {
	for name, null := range presence {
		for _, n := range []int{0, 1, 1500} {
			var fields []arrow.Field
			var arrays []arrow.Array
			for i, c := range columns {
				fields = append(fields, arrow.Field{Name: fmt.Sprintf("c%d", i), Type: c.t, Nullable: true, Metadata: arrow.NewMetadata([]string{"key"}, []string{c.t.String()})})
				arrays = append(arrays, columnOf(t, c.t, c.values, n, null))
			}
			metadata := arrow.NewMetadata([]string{"of the file"}, []string{"kept"})
			s := arrow.NewSchema(fields, &metadata)
			batch := array.NewRecordBatch(s, arrays, int64(n))
			for _, o := range []WriteOptions{{}, {PageBytes: 500, Compression: schemeZstd}, {PageBytes: 2000, Compression: schemeLz4, PlainStrings: true}} {
				f, err := open(written(t, s, []arrow.RecordBatch{batch.NewSlice(0, int64(n/3)), batch.NewSlice(int64(n/3), int64(n))}, o))
				if err != nil {
					t.Fatalf("%s, %d rows, %+v: %v", name, n, o, err)
				}
				if !f.Schema().Equal(s) || !f.Schema().Metadata().Equal(metadata) {
					t.Fatalf("schema %v\nwant %v", f.Schema(), s)
				}
				for _, r := range []ReadOptions{{}, {BatchRows: 77, WindowBytes: 3000}} {
					if what, err := differs(f, s, []arrow.RecordBatch{batch}, r); what != "" || err != nil {
						t.Errorf("%s, %d rows, %+v, %+v: %s %v", name, n, o, r, what, err)
					}
				}
			}
		}
	}
}

// one makes a batch of one column of a type, of values in JSON.
func one(t testing.TB, f arrow.Field, values string) (*arrow.Schema, arrow.RecordBatch) {
	t.Helper()
	a, _, err := array.FromJSON(memory.DefaultAllocator, f.Type, strings.NewReader(values))
	if err != nil {
		t.Fatal(err)
	}
	s := arrow.NewSchema([]arrow.Field{f}, nil)
	return s, array.NewRecordBatch(s, []arrow.Array{a}, int64(a.Len()))
}

// sink writes a batch by the format's own sink.
func sink(t testing.TB, s *arrow.Schema, batch arrow.RecordBatch, o fileformat.SinkOptions) (data []byte, r *arrowtype.Report, err error) {
	t.Helper()
	var out strings.Builder
	w, err := Format.NewSink(&out, s, o)
	if err != nil {
		return nil, nil, err
	}
	if err := w.Write(batch); err != nil {
		return nil, nil, err
	}
	if err := w.Close(); err != nil {
		return nil, nil, err
	}
	return []byte(out.String()), w.Report(), nil
}

// Types that the format has no name for become their nearest, and the report reports it; what has none is refused by name.
func TestTypesWithoutAName(t *testing.T) {
	for _, c := range []struct {
		t            arrow.DataType
		values, note string
	}{
		{arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32), `[[{"key": "a", "value": 1}], null, []]`, "a map becomes a list of structs"},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String, Ordered: true}, `["b", null, "a"]`, "the order of a dictionary is not kept"},
		{arrow.BinaryTypes.StringView, `["a string that is too long to be inline", null, "b"]`, "a string view becomes a string"},
		{arrow.BinaryTypes.BinaryView, `["AAEC", null]`, "a binary view becomes binary"},
		{arrow.ListViewOf(arrow.PrimitiveTypes.Int32), `[[1, 2], null, []]`, "a list view becomes a list"},
		{arrow.FixedSizeListOf(2, arrow.BinaryTypes.String), `[["a", "b"], null, ["c", null]]`, "a list of 2 items each becomes a list of any number"},
	} {
		s, batch := one(t, arrow.Field{Name: "c", Type: c.t, Nullable: true}, c.values)
		data, r, err := sink(t, s, batch, fileformat.SinkOptions{})
		if err != nil {
			t.Errorf("%s: %v", c.t, err)
			continue
		}
		if len(r.Notes) != 1 || r.Notes[0].Field != "c" || !strings.Contains(r.Notes[0].What, c.note) {
			t.Errorf("%s: report %+v", c.t, r.Notes)
		}
		f, err := open(data)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := rowsOf(f, ReadOptions{})
		if err != nil || len(rows) != int(batch.NumRows()) {
			t.Fatalf("%s: %v, %v", c.t, rows, err)
		}
		for i, row := range rows {
			if want := valueOf(batch.Column(0), i); fmt.Sprint(row["c"]) != fmt.Sprint(want) {
				t.Errorf("%s, row %d: %v, want %v", c.t, i, row["c"], want)
			}
		}
	}
	for _, typ := range []arrow.DataType{
		&arrow.Decimal32Type{Precision: 5, Scale: 2}, arrow.FixedWidthTypes.MonthInterval, arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64),
		arrow.SparseUnionOf([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int32}}, []arrow.UnionTypeCode{0}),
	} {
		_, err := NewWriter(&strings.Builder{}, arrow.NewSchema([]arrow.Field{{Name: "c", Type: typ}}, nil), WriteOptions{})
		if err == nil || !strings.Contains(err.Error(), `column "c": no type of Lance for `) {
			t.Errorf("%s: %v", typ, err)
		}
	}
}

// Null structs have no place in version 2.0: they are refused with their row, or their nulls are pushed down and counted.
func TestNullStructs(t *testing.T) {
	inner := arrow.StructOf(arrow.Field{Name: "y", Type: arrow.BinaryTypes.String})
	of := arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32}, arrow.Field{Name: "z", Type: inner})
	s, batch := one(t, arrow.Field{Name: "s", Type: of, Nullable: true}, `[{"x": 1, "z": {"y": "a"}}, null, {"x": 3, "z": {"y": "b"}}]`)
	_, _, err := sink(t, s, batch, fileformat.SinkOptions{})
	var row *arrowtype.RowError
	if !errors.As(err, &row) || row.Row != 1 || row.Field != "s" || !strings.Contains(err.Error(), "--null-structs push-down") {
		t.Fatalf("%v", err)
	}
	for i, o := range []fileformat.SinkOptions{{Settings: fileformat.Settings{optionNullStructs: pushDown}}, {AllowLossy: true}} {
		data, r, err := sink(t, s, batch, o)
		if err != nil || len(r.Notes) == 0 || r.Notes[0].Count != int64(i) {
			t.Fatalf("%+v, %v", r, err)
		}
		f, err := open(data)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := rowsOf(f, ReadOptions{})
		if got, want := fmt.Sprint(rows), `[map[s:map[x:1 z:map[y:a]]] map[s:map[x:<nil> z:map[y:<nil>]]] map[s:map[x:3 z:map[y:b]]]]`; err != nil || got != want {
			t.Errorf("%s, want %s, %v", got, want, err)
		}
	}
}

// A packed struct has no place for nulls: one is refused with its row. Without nulls it comes back, from one column.
func TestPackedStructs(t *testing.T) {
	of := arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, arrow.Field{Name: "v", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float64)})
	field := arrow.Field{Name: "p", Type: of, Metadata: arrow.NewMetadata([]string{packedKey}, []string{"true"})}
	s, batch := one(t, field, `[{"x": 1, "v": [1, 2]}, {"x": -7, "v": [3, 4]}]`)
	f, err := open(written(t, s, []arrow.RecordBatch{batch}, WriteOptions{}))
	if err != nil || len(f.columns) != 1 {
		t.Fatalf("%d columns, %v", len(f.columns), err)
	}
	if what, err := differs(f, s, []arrow.RecordBatch{batch}, ReadOptions{}); what != "" || err != nil {
		t.Errorf("%s %v", what, err)
	}
	s, batch = one(t, field, `[{"x": 1, "v": [1, 2]}, {"x": null, "v": [3, 4]}]`)
	_, _, err = sink(t, s, batch, fileformat.SinkOptions{})
	var row *arrowtype.RowError
	if !errors.As(err, &row) || row.Row != 1 || row.Field != "p" {
		t.Errorf("%v", err)
	}
}

// Blobs go into the file at once, and the page keeps their places; reading some of them fetches those alone.
func TestBlobs(t *testing.T) {
	field := arrow.Field{Name: "b", Type: arrow.BinaryTypes.LargeBinary, Nullable: true, Metadata: arrow.NewMetadata([]string{blobKey}, []string{"true"})}
	s := arrow.NewSchema([]arrow.Field{field}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	for i := range 10 {
		if i == 3 {
			b.Field(0).AppendNull()
			continue
		}
		b.Field(0).(*array.BinaryBuilder).Append([]byte(strings.Repeat(string(rune('a'+i)), 10_000*(i%5))))
	}
	batch := b.NewRecordBatch()
	data := written(t, s, []arrow.RecordBatch{batch}, WriteOptions{})
	f, err := open(data)
	if err != nil || !f.columns[0].blob {
		t.Fatalf("%+v, %v", f.columns, err)
	}
	if what, err := differs(f, s, []arrow.RecordBatch{batch}, ReadOptions{}); what != "" || err != nil {
		t.Errorf("%s %v", what, err)
	}
	if got := fetched(t, data, ReadOptions{Rows: []Rows{{6, 7}}}); got.bytes > 10_016 {
		t.Errorf("a blob of 10,000 bytes took %d bytes", got.bytes)
	}
}

// traffic is what reading costs, besides what opening does.
type traffic struct{ requests, bytes, rows int64 }

func fetched(t testing.TB, data []byte, o ReadOptions) (out traffic) {
	t.Helper()
	ctx := context.Background()
	c, url := store(t, data)
	f, err := Open(ctx, c, url)
	if err != nil {
		t.Fatal(err)
	}
	opened := c.Counters()
	s, err := f.NewSource(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for {
		batch, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			spent := c.Counters().Sub(opened)
			return traffic{spent.Gets, spent.GetBytes, out.rows}
		}
		if err != nil {
			t.Fatal(err)
		}
		out.rows += batch.NumRows()
	}
}

// numbered is a file of a column of numbers that rise, some of them null, one of strings, and one of lists.
func numbered(t testing.TB, n int, o WriteOptions) []byte {
	t.Helper()
	s := arrow.NewSchema([]arrow.Field{
		{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "s", Type: arrow.BinaryTypes.String},
		{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32)},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	for i := range n {
		if i%100 == 99 {
			b.Field(0).AppendNull()
		} else {
			b.Field(0).(*array.Int64Builder).Append(int64(i))
		}
		b.Field(1).(*array.StringBuilder).Append(fmt.Sprintf("%0100d", i))
		l := b.Field(2).(*array.ListBuilder)
		l.Append(true)
		l.ValueBuilder().(*array.Int32Builder).AppendValues([]int32{int32(i), 2, 3}, nil)
	}
	batch := b.NewRecordBatch()
	return written(t, s, []arrow.RecordBatch{batch}, o)
}

// A column costs nothing unless it is requested, and of one that is only the bytes of its rows are read.
func TestColumnsAndRowsAreReadByRanges(t *testing.T) {
	data := numbered(t, 50_000, WriteOptions{})
	for _, c := range []struct {
		o        ReadOptions
		requests int64
		bytes    int64
	}{
		{ReadOptions{Columns: []int{0}}, 2, 50_000*8 + 50_000/8 + 100},
		// The numbers and the bitmap of their nulls lie so near that one request fetches both, and what is between.
		{ReadOptions{Columns: []int{0}, Rows: []Rows{{20_000, 20_010}}}, 1, 170_000},
		{ReadOptions{Columns: []int{1}, Rows: []Rows{{20_000, 20_010}}}, 3, 11*8 + 1000},
		{ReadOptions{Columns: []int{1}, Rows: []Rows{{0, 1}}}, 3, 8 + 100},     // the first value needs one offset
		{ReadOptions{Columns: []int{2}, Rows: []Rows{{700, 701}}}, 3, 16 + 12}, // any other two
	} {
		got := fetched(t, data, c.o)
		if got.requests > c.requests || got.bytes > c.bytes {
			t.Errorf("%+v: %+v, want at most %d requests of %d bytes beside opening", c.o, got, c.requests, c.bytes)
		}
	}
}

// Zones whose numbers can't match are not read.
func TestZonesAreLeftOut(t *testing.T) {
	data := numbered(t, 50_000, WriteOptions{ZoneColumns: []string{"n"}, ZoneRows: 1000})
	at := func(low, high int64) ReadOptions {
		return ReadOptions{Columns: []int{1}, MayMatch: func(stats func(int) *filter.Stats) bool {
			s := stats(0)
			return stats(1) != nil || s == nil || s.Nulls != 10 || s.Min.Int < high && s.Max.Int >= low
		}}
	}
	all := fetched(t, data, ReadOptions{Columns: []int{1}})
	for _, c := range []struct{ low, high, rows int64 }{{20_500, 20_501, 1000}, {20_998, 21_001, 2000}, {-5, 0, 0}, {-5, 60_000, 50_000}} {
		got := fetched(t, data, at(c.low, c.high))
		if got.rows != c.rows || got.bytes > all.bytes*c.rows/50_000+8000 {
			t.Errorf("%+v: %+v of %+v", c, got, all)
		}
	}
	f, err := open(data)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := rowsOf(f, ReadOptions{Rows: []Rows{{5, 7}, {20_100, 20_102}}, MayMatch: at(20_000, 21_000).MayMatch, Columns: []int{0}})
	if got := fmt.Sprintf("%d %v", len(rows), rows[0]["n"]); err != nil || got != "2 20100" {
		t.Errorf("%s, %v", got, err)
	}
}

// The zone map of the vector is used.
func TestZonesOfOthers(t *testing.T) {
	data, _ := readVector(t, "testdata/text/zone-index.lance")
	f, err := open(data)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := rowsOf(f, ReadOptions{MayMatch: func(stats func(int) *filter.Stats) bool { s := stats(1); return s.Min != nil && s.Min.Int > 40 }})
	if err != nil || len(rows) != 2 || fmt.Sprint(rows[0]["v"]) != "50" {
		t.Errorf("%v, %v", rows, err)
	}
	_, err = NewWriter(&strings.Builder{}, f.Schema(), WriteOptions{ZoneColumns: []string{"nobody"}})
	if err == nil || !strings.Contains(err.Error(), `unknown column "nobody"`) {
		t.Error(err)
	}
}

// Values that are large end a page each: no more than one of them is held.
func TestLargeValuesEndPages(t *testing.T) {
	s := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	for range 20 {
		b.Field(0).(*array.StringBuilder).Append(strings.Repeat("x", 5000))
	}
	f, err := open(written(t, s, []arrow.RecordBatch{b.NewRecordBatch()}, WriteOptions{PageBytes: 4000, PlainStrings: true}))
	if err != nil || len(f.columns[0].pages) != 20 {
		t.Errorf("%d pages, %v", len(f.columns[0].pages), err)
	}
}
