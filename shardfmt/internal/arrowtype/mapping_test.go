package arrowtype

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

func fromJSON(t *testing.T, typ arrow.DataType, text string) arrow.RecordBatch {
	t.Helper()
	a, _, err := array.FromJSON(memory.DefaultAllocator, typ, strings.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", typ, err)
	}
	s := arrow.NewSchema([]arrow.Field{{Name: "f", Type: typ, Nullable: true}}, nil)
	return array.NewRecordBatch(s, []arrow.Array{a}, int64(a.Len()))
}

// mustImport brings a batch in by the default mapping.
func mustImport(t *testing.T, b arrow.RecordBatch) (*schema.Schema, arrow.RecordBatch) {
	t.Helper()
	s, _, err := FromArrow(b.Schema())
	if err != nil {
		t.Fatal(err)
	}
	im, err := NewImporter(b.Schema(), s, ImportOptions{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	out, err := im.Import(b)
	if err != nil {
		t.Fatal(err)
	}
	return s, out
}

var (
	list        = arrow.ListOf(arrow.PrimitiveTypes.Int8)
	jsonType, _ = extensions.NewJSONType(arrow.BinaryTypes.LargeString)
)

// everyType is one case for every type of Arrow: the type it has in a shard, and values.
var everyType = []struct {
	typ  arrow.DataType
	want string
	text string
}{
	{arrow.Null, "Unit", `[null, null]`},
	{arrow.FixedWidthTypes.Boolean, "Boolean", `[true, null, false]`},
	{arrow.PrimitiveTypes.Int8, "Int8", `[-128, null, 127]`},
	{arrow.PrimitiveTypes.Int16, "Int16", `[-32768, null]`},
	{arrow.PrimitiveTypes.Int32, "Int32", `[-1, null]`},
	{arrow.PrimitiveTypes.Int64, "Int64", `[-1, null]`},
	{arrow.PrimitiveTypes.Uint8, "UInt8", `[255, null]`},
	{arrow.PrimitiveTypes.Uint16, "UInt16", `[65535, null]`},
	{arrow.PrimitiveTypes.Uint32, "UInt32", `[4294967295, null]`},
	{arrow.PrimitiveTypes.Uint64, "UInt64", `[1, null]`},
	{arrow.FixedWidthTypes.Float16, "Float32", `[1.5, null]`},
	{arrow.PrimitiveTypes.Float32, "Float32", `[1.5, null]`},
	{arrow.PrimitiveTypes.Float64, "Float64", `[1.5, null]`},
	{arrow.BinaryTypes.String, "String", `["é", null, ""]`},
	{arrow.BinaryTypes.LargeString, "String", `["é", null, ""]`},
	{arrow.BinaryTypes.StringView, "String", `["é", null, "longer than twelve bytes"]`},
	{arrow.BinaryTypes.Binary, "Binary", `["AAE=", null]`},
	{arrow.BinaryTypes.LargeBinary, "Binary", `["AAE=", null]`},
	{arrow.BinaryTypes.BinaryView, "Binary", `["AAE=", null]`},
	{&arrow.FixedSizeBinaryType{ByteWidth: 2}, "FixedSizeBinary(2)", `["AAE=", null]`},
	{arrow.FixedWidthTypes.Date32, "DateTime", `["0001-01-01", null, "9999-12-31"]`},
	{arrow.FixedWidthTypes.Date64, "DateTime", `["2024-02-29", null]`},
	{arrow.FixedWidthTypes.Timestamp_s, "DateTime", `["1969-12-31 23:59:59Z", null]`},
	{arrow.FixedWidthTypes.Timestamp_ms, "DateTime", `["2024-01-01 00:00:00.001Z", null]`},
	{&arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "Europe/Oslo"}, "DateTime", `["2024-01-01 00:00:00.000001Z", null]`},
	{&arrow.TimestampType{Unit: arrow.Nanosecond}, "DateTime", `["2024-01-01 00:00:00.000001", null]`},
	{arrow.FixedWidthTypes.Time32s, "TimeSpan", `["23:59:59", null]`},
	{arrow.FixedWidthTypes.Time32ms, "TimeSpan", `["23:59:59.999", null]`},
	{arrow.FixedWidthTypes.Time64us, "TimeSpan", `["23:59:59.999999", null]`},
	{arrow.FixedWidthTypes.Time64ns, "TimeSpan", `["23:59:59.999999", null]`},
	{arrow.FixedWidthTypes.Duration_s, "TimeSpan", `["-5s", null]`},
	{arrow.FixedWidthTypes.Duration_ns, "TimeSpan", `["1000ns", null]`},
	{arrow.FixedWidthTypes.MonthInterval, "Int32", `[{"months": -3}, null]`},
	{arrow.FixedWidthTypes.DayTimeInterval, "Struct", `[{"days": 1, "milliseconds": -2}, null]`},
	{arrow.FixedWidthTypes.MonthDayNanoInterval, "Struct", `[{"months": 1, "days": 2, "nanoseconds": 3}, null]`},
	{&arrow.Decimal32Type{Precision: 5, Scale: 2}, "Decimal", `["-1.50", null]`},
	{&arrow.Decimal64Type{Precision: 15, Scale: 2}, "Decimal", `["-1.50", null]`},
	{&arrow.Decimal128Type{Precision: 20, Scale: 3}, "Decimal", `["-1.500", null]`},
	{&arrow.Decimal256Type{Precision: 60, Scale: 3}, "Decimal", `["-1.500", null]`},
	{list, "List", `[[1, null], null, []]`},
	{arrow.LargeListOf(arrow.BinaryTypes.String), "List", `[["a", null], null, [], ["b"]]`},
	{arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int8), "FixedSizeList(2)", `[[1, null], null, [3, 4]]`},
	{arrow.MapOf(arrow.BinaryTypes.String, list), "Map", `[[{"key": "a", "value": [1]}, {"key": "a", "value": null}], null, []]`},
	{arrow.StructOf(arrow.Field{Name: "x", Type: list, Nullable: true}, arrow.Field{Name: "y", Type: arrow.FixedWidthTypes.Date32, Nullable: true}),
		"Struct", `[{"x": [1], "y": "2024-01-01"}, null, {"x": null, "y": null}]`},
	{extensions.NewUUIDType(), "Guid", `["00112233-4455-6677-8899-aabbccddeeff", null]`},
	{jsonType, "Dynamic", `["{\"a\":1}", null]`},
	{extensions.NewBool8Type(), "Boolean", `[true, null, false]`},
	{extensions.NewOpaqueType(arrow.BinaryTypes.Binary, "point", "postgis"), "Binary", `["AAE=", null]`},
}

// Every type of Arrow goes in and, by the schema it came with, out again unchanged.
func TestEveryArrowTypeThereAndBack(t *testing.T) {
	for _, c := range everyType {
		b := fromJSON(t, c.typ, c.text)
		s, canonical := mustImport(t, b)
		if got := s.Fields[0].TypeName(); got != c.want {
			t.Errorf("%s becomes %s, want %s", c.typ, got, c.want)
		}
		if !canonical.Schema().Equal(Schema(s)) {
			t.Errorf("%s: imported as %s", c.typ, canonical.Schema())
		}
		property, err := MarshalSchema(b.Schema())
		if err != nil {
			t.Fatal(err)
		}
		original, err := UnmarshalSchema(property)
		if err != nil {
			t.Fatal(err)
		}
		e, err := NewExporter(s, ExportOptions{Original: original})
		if err != nil {
			t.Fatal(err)
		}
		back, err := e.Export(canonical)
		if err != nil {
			t.Errorf("%s: %v", c.typ, err)
			continue
		}
		if !array.RecordEqual(back, b) {
			t.Errorf("%s: got %v, want %v", c.typ, back, b)
		}
		// By the default mapping everything has some type too, and comes in again as the same values.
		e, err = NewExporter(s, ExportOptions{TimeUnit: "us", Decimal: &arrow.Decimal128Type{Precision: 38, Scale: 3}})
		if err != nil {
			t.Fatal(err)
		}
		out, err := e.Export(canonical)
		if err != nil {
			t.Errorf("%s: %v", c.typ, err)
			continue
		}
		s2, again := mustImport(t, out)
		if !alike(s.Fields[0], s2.Fields[0]) {
			t.Errorf("%s: exported as %s, which is %s", c.typ, out.Schema(), s2.Fields[0].TypeName())
		}
		if c.want != "Decimal" && !array.RecordEqual(again, canonical) {
			t.Errorf("%s: got %v, want %v", c.typ, again, canonical)
		}
	}
}

// Slices, whose arrays start in the middle of their buffers, are what their rows are.
func TestSlicesAreImportedAsTheirRows(t *testing.T) {
	for _, c := range everyType {
		b := fromJSON(t, c.typ, c.text)
		if b.NumRows() < 2 {
			continue
		}
		_, whole := mustImport(t, b)
		_, part := mustImport(t, b.NewSlice(1, b.NumRows()))
		if want := whole.NewSlice(1, b.NumRows()); !array.RecordEqual(part, want) {
			t.Errorf("%s: got %v, want %v", c.typ, part, want)
		}
	}
}

func imported(t *testing.T, a arrow.Array) arrow.RecordBatch {
	t.Helper()
	s := arrow.NewSchema([]arrow.Field{{Name: "f", Type: a.DataType(), Nullable: true}}, nil)
	_, out := mustImport(t, array.NewRecordBatch(s, []arrow.Array{a}, int64(a.Len())))
	return out
}

func TestEncodedArraysAreUnpacked(t *testing.T) {
	d := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	b := fromJSON(t, d, `["a", null, "b", "a"]`)
	_, got := mustImport(t, b.NewSlice(1, 4))
	if want := fromJSON(t, arrow.BinaryTypes.LargeString, `[null, "b", "a"]`); !array.RecordEqual(got, want) {
		t.Errorf("dictionary: %v", got)
	}
	ends, _, _ := array.FromJSON(memory.DefaultAllocator, arrow.PrimitiveTypes.Int32, strings.NewReader(`[2, 3, 6]`))
	values, _, _ := array.FromJSON(memory.DefaultAllocator, list, strings.NewReader(`[[1], null, [2, 3]]`))
	runs := array.NewRunEndEncodedArray(ends, values, 6, 0)
	got = imported(t, array.NewSlice(runs, 1, 5))
	if want := fromJSON(t, arrow.LargeListOf(arrow.PrimitiveTypes.Int8), `[[1], null, [2, 3], [2, 3]]`); !array.RecordEqual(got, want) {
		t.Errorf("runs: %v", got)
	}
	view := array.NewListViewBuilder(memory.DefaultAllocator, arrow.PrimitiveTypes.Int8)
	view.AppendValuesWithSizes([]int32{1, 0, 0}, []int32{2, 2, 0}, []bool{true, true, false})
	view.ValueBuilder().(*array.Int8Builder).AppendValues([]int8{1, 2, 3}, nil)
	got = imported(t, view.NewArray())
	if want := fromJSON(t, arrow.LargeListOf(arrow.PrimitiveTypes.Int8), `[[2, 3], [1, 2], null]`); !array.RecordEqual(got, want) {
		t.Errorf("views: %v", got)
	}
}

func TestUnionsOfBothKinds(t *testing.T) {
	ints, _, _ := array.FromJSON(memory.DefaultAllocator, arrow.PrimitiveTypes.Int8, strings.NewReader(`[1, 2]`))
	texts, _, _ := array.FromJSON(memory.DefaultAllocator, arrow.BinaryTypes.String, strings.NewReader(`["a", null]`))
	codes := memory.NewBufferBytes([]byte{5, 7, 5, 7})
	offsets := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes([]int32{0, 0, 1, 1}))
	typ := arrow.DenseUnionOf([]arrow.Field{{Name: "i", Type: ints.DataType()}, {Name: "s", Type: texts.DataType()}}, []int8{5, 7})
	dense := array.NewDenseUnion(typ, 4, []arrow.Array{ints, texts}, codes, offsets, 0)
	got := imported(t, dense).Column(0).(*array.SparseUnion)
	var all []string
	for i := range got.Len() {
		all = append(all, got.Field(got.ChildID(i)).ValueStr(i))
	}
	if s := strings.Join(all, " "); s != "1 a 2 (null)" || got.TypeCode(1) != 1 {
		t.Error(s, got)
	}
	sparse := imported(t, got)
	if !array.Equal(sparse.Column(0), got) {
		t.Error(sparse)
	}
}

// What a type can't hold is refused with its row, never made null.
func TestRefusedValuesNameTheirRow(t *testing.T) {
	for _, c := range []struct {
		typ        arrow.DataType
		text, to   string
		row        int64
		field, why string
	}{
		{arrow.FixedWidthTypes.Date32, `["2024-01-01", "0000-12-31"]`, "DateTime", 1, "f", "outside the years"},
		{arrow.FixedWidthTypes.Timestamp_s, `[null, null, 253402300800]`, "DateTime", 2, "f", "outside the years"},
		{arrow.FixedWidthTypes.Timestamp_s, `[9223372036854775807]`, "DateTime", 0, "f", "outside the years"},
		{arrow.ListOf(arrow.FixedWidthTypes.Date64), `[["2024-01-01"], [], null, ["2024-01-01", -99999999999999]]`, "List<DateTime>", 3, "f.item", "outside the years"},
		{arrow.FixedWidthTypes.Timestamp_ns, `["2024-01-01 00:00:00.000000001Z"]`, "DateTime", 0, "f", "below 100 ns"},
		{arrow.FixedWidthTypes.Duration_s, `["9000000000000s"]`, "TimeSpan", 0, "f", "more than a TimeSpan"},
		{arrow.PrimitiveTypes.Int64, `[1, 128]`, "Int8", 1, "f", "128 does not fit Int8"},
		{arrow.PrimitiveTypes.Int64, `[-1]`, "UInt64", 0, "f", "-1 does not fit UInt64"},
		{arrow.PrimitiveTypes.Uint64, `[18446744073709551615]`, "Int64", 0, "f", "does not fit Int64"},
		{arrow.PrimitiveTypes.Float64, `[0.1]`, "Float32", 0, "f", "not exactly a Float32"},
		{arrow.PrimitiveTypes.Int64, `[9007199254740993]`, "Float64", 0, "f", "not be exactly"},
		{&arrow.Decimal256Type{Precision: 60}, `["12345678901234567890123456789012345"]`, "Decimal", 0, "f", "34 digits"},
		{arrow.BinaryTypes.String, `["x"]`, "Guid", 0, "f", "not a guid"},
		{arrow.BinaryTypes.Binary, `["AAE=", "AA=="]`, "FixedSizeBinary(2)", 1, "f", "1 byte, expected 2"},
		{list, `[[1, 2], [1]]`, "FixedSizeList(2)<Int8>", 1, "f", "1 element, expected 2"},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.PrimitiveTypes.Int64}, `[1, 300, 1]`, "Int8", 1, "f", "300 does not fit"},
	} {
		b := fromJSON(t, c.typ, c.text)
		to, err := schema.Parse("f: " + c.to)
		if err != nil {
			t.Fatal(err)
		}
		im, err := NewImporter(b.Schema(), to, ImportOptions{Strict: true})
		if err != nil {
			t.Fatal(err)
		}
		_, err = im.Import(b)
		var row *RowError
		if !errors.As(err, &row) || row.Row != c.row || row.Field != c.field || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s to %s: got %v", c.typ, c.to, err)
		}
	}
}

func TestInvalidTextIsRefusedWithItsRow(t *testing.T) {
	for _, values := range [][]string{{"a", "\xff"}, {"\xc3", "\xa9"}, {"é\xc3", "\xa9"}} {
		b := array.NewStringBuilder(memory.DefaultAllocator)
		b.AppendValues(values, nil)
		a := b.NewArray()
		s := arrow.NewSchema([]arrow.Field{{Name: "f", Type: a.DataType()}}, nil)
		to, _, _ := FromArrow(s)
		im, err := NewImporter(s, to, ImportOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = im.Import(array.NewRecordBatch(s, []arrow.Array{a}, 2))
		var row *RowError
		if !errors.As(err, &row) || !strings.Contains(err.Error(), "invalid UTF-8") || (row.Row == 1) != (values[0] == "a") {
			t.Errorf("%q: %v", values, err)
		}
	}
}

func TestLossesAreReported(t *testing.T) {
	b := fromJSON(t, arrow.FixedWidthTypes.Timestamp_ns, `["1969-12-31 23:59:59.999999999Z", "2024-01-01 00:00:00.000000199Z"]`)
	s, _, _ := FromArrow(b.Schema())
	im, _ := NewImporter(b.Schema(), s, ImportOptions{})
	out, err := im.Import(b)
	if err != nil {
		t.Fatal(err)
	}
	ticks := out.Column(0).(*DateTimeArray).Ticks()
	if ticks[0] != 621355967999999999 || ticks[1]%10 != 1 {
		t.Errorf("digits are cut off, which makes each earlier: %d", ticks)
	}
	if got := im.Report().String(); got != "field \"f\": digits below 100 ns are truncated (2 values)\n" {
		t.Error(got)
	}
	_, report, err := FromArrow(arrow.NewSchema([]arrow.Field{{Name: "t", Type: arrow.FixedWidthTypes.Time32s}, {Name: "z", Type: &arrow.TimestampType{TimeZone: "Asia/Tokyo"}}}, nil))
	if err != nil || len(report.Notes) != 2 {
		t.Error(report, err)
	}
}

func TestExportRefusesAndReports(t *testing.T) {
	s, err := schema.Parse("t: DateTime, d: Decimal, g: Guid")
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, Schema(s))
	ticks := b.Field(0).(*array.ExtensionBuilder).StorageBuilder().(*array.Int64Builder)
	ticks.Append(621355968000000001)
	ticks.Append(0)
	b.Field(1).AppendNulls(2)
	b.Field(2).AppendNulls(2)
	batch := b.NewRecordBatch()
	e, _ := NewExporter(s, ExportOptions{})
	_, err = e.Export(batch)
	var row *RowError
	if !errors.As(err, &row) || row.Row != 1 || !errors.Is(err, ErrUnit) || !strings.Contains(err.Error(), "0001-01-01T00:00:00Z") {
		t.Error(err)
	}
	e, _ = NewExporter(s, ExportOptions{TimeUnit: "us", GuidAsString: true})
	out, err := e.Export(batch)
	if err != nil {
		t.Fatal(err)
	}
	if got := out.Schema().Field(0).Type.String(); got != "timestamp[us, tz=UTC]" {
		t.Error(got)
	}
	if out.Schema().Field(2).Type.ID() != arrow.STRING || out.Schema().Field(1).Type.ID() != arrow.STRING {
		t.Error(out.Schema())
	}
	if got := e.Report().String(); !strings.Contains(got, "are truncated (1 value)") || !strings.Contains(got, "decimals become text") {
		t.Error(got)
	}
	if _, err := NewExporter(s, ExportOptions{TimeUnit: "h"}); err == nil {
		t.Error("hours are no unit")
	}
	union, _ := schema.Parse("u: Union<Int8, String>")
	if _, err := NewExporter(union, ExportOptions{Parquet: true}); err == nil || !strings.Contains(err.Error(), `field "u"`) {
		t.Error(err)
	}
}

// Labels travel in field metadata, on list items and map values too, with their properties.
func TestLabelsTravel(t *testing.T) {
	item := &schema.Node{Name: "item", Basic: schema.Float32, Nullable: true, Ext: &schema.Extension{Label: "bf16"}}
	s := &schema.Schema{Fields: []*schema.Node{
		{Name: "e", Basic: schema.FixedSizeList, FixedSize: 3, Nullable: true, Children: []*schema.Node{item}, Ext: &schema.Extension{
			Label: "EmbeddingVec", Properties: []schema.ExtensionProperty{{Name: "model", Kind: schema.PropertyString, Data: []byte("x")}},
		}},
	}}
	e, err := NewExporter(s, ExportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	back, _, err := FromArrow(e.Schema())
	if err != nil {
		t.Fatal(err)
	}
	f := back.Fields[0]
	if f.Label() != "EmbeddingVec" || len(f.Ext.Properties) != 1 || string(f.Ext.Properties[0].Data) != "x" || f.Children[0].Label() != "bf16" {
		t.Errorf("%+v", f)
	}
}

func TestColumnsAreMatched(t *testing.T) {
	b := fromJSON(t, arrow.PrimitiveTypes.Int8, `[1]`)
	for text, want := range map[string]string{
		"f: Int64": "", "g: Int8": "no field", "f: String": "expected String", "f: Int8, h: String": "",
	} {
		to, _ := schema.Parse(text)
		im, err := NewImporter(b.Schema(), to, ImportOptions{})
		if err == nil {
			_, err = im.Import(b)
		}
		if (err == nil) != (want == "") || err != nil && (!errors.Is(err, ErrColumn) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", text, err)
		}
	}
	aliased := &schema.Schema{Fields: []*schema.Node{{Name: "new", Aliases: []string{"f"}, Basic: schema.Int8, Signed: true}}}
	im, err := NewImporter(b.Schema(), aliased, ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := im.Import(b); err != nil || out.Column(0).(*array.Int8).Value(0) != 1 {
		t.Error(out, err)
	}
}

func FuzzUnmarshalSchema(f *testing.F) {
	for _, c := range everyType {
		b, _ := MarshalSchema(arrow.NewSchema([]arrow.Field{{Name: "f", Type: c.typ}}, nil))
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := UnmarshalSchema(b)
		if err != nil {
			return
		}
		FromArrow(s)
	})
}
