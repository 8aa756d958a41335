package arrowtype

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// textTypes are columns of text in a shard and what they are for others.
func textTypes(t testing.TB) (*schema.Schema, arrow.RecordBatch) {
	var rows strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&rows, `{"s":"value %d","b":"QUJD","d":"{\"n\":%d}"},{"s":null,"b":null,"d":null},`, i, i)
	}
	s, err := schema.Parse("s: String, b: Binary, d: Dynamic")
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "b", Type: arrow.BinaryTypes.Binary, Nullable: true},
		{Name: "d", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil), strings.NewReader("["+strings.TrimSuffix(rows.String(), ",")+"]"))
	if err != nil {
		t.Fatal(err)
	}
	im, err := NewImporter(r.Schema(), s, ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := im.Import(r)
	if err != nil {
		t.Fatal(err)
	}
	return s, out
}

// Text that goes out shares its bytes with what was read; only offsets are made, for slices too.
func TestExportedTextIsShared(t *testing.T) {
	s, batch := textTypes(t)
	for _, types := range [][3]arrow.DataType{
		{arrow.BinaryTypes.String, arrow.BinaryTypes.Binary, arrow.BinaryTypes.String},
		{arrow.BinaryTypes.LargeString, arrow.BinaryTypes.LargeBinary, arrow.BinaryTypes.LargeString},
	} {
		dynamic, err := extensions.NewJSONType(types[2])
		if err != nil {
			t.Fatal(err)
		}
		e, err := NewExporter(s, ExportOptions{Original: arrow.NewSchema([]arrow.Field{
			{Name: "s", Type: types[0], Nullable: true}, {Name: "b", Type: types[1], Nullable: true}, {Name: "d", Type: dynamic, Nullable: true},
		}, nil)})
		if err != nil {
			t.Fatal(err)
		}
		slice := batch.NewSlice(101, 1902)
		out, err := e.Export(slice)
		if err != nil || out.Schema().Field(0).Type != types[0] || out.Schema().Field(1).Type != types[1] {
			t.Fatal(out.Schema(), err)
		}
		for i, f := range s.Fields[:2] { // checking JSON takes memory of its own
			at := place{n: f, path: f.Name, row: sameRow}
			n := testing.AllocsPerRun(1, func() { _, err = e.out.array(slice.Column(i), out.Schema().Field(i).Type, at) })
			if err != nil || n > 50 {
				t.Errorf("%s: %v allocations, %v", f.Name, n, err)
			}
		}
		for c, got := range out.Columns() {
			for i := range got.Len() {
				if want := slice.Column(c); got.IsNull(i) != want.IsNull(i) || got.IsValid(i) && got.ValueStr(i) != want.ValueStr(i) {
					t.Fatalf("%s, row %d: %s, want %s", got.DataType(), i, got.ValueStr(i), want.ValueStr(i))
				}
			}
		}
	}
}

// Types that come back as they were are no change to report about.
func TestNothingIsToldOfWhatComesBack(t *testing.T) {
	original := arrow.NewSchema([]arrow.Field{{Name: "d", Type: &arrow.Decimal128Type{Precision: 15, Scale: 2}, Nullable: true}}, nil)
	s, _, err := FromArrow(original)
	if err != nil {
		t.Fatal(err)
	}
	for o, want := range map[*arrow.Schema]int{original: 0, nil: 1} {
		e, err := NewExporter(s, ExportOptions{Original: o})
		if err != nil || len(e.Report().Notes) != want {
			t.Errorf("%v, %v", e.Report(), err)
		}
	}
}

// What Arrow shows of a value is what a person would write; it panics on arrays that can't tell.
func TestValuesAsText(t *testing.T) {
	types := arrow.NewSchema([]arrow.Field{
		{Name: "at", Type: &arrow.TimestampType{Unit: arrow.Second, TimeZone: "UTC"}, Nullable: true},
		{Name: "span", Type: &arrow.DurationType{Unit: arrow.Second}, Nullable: true},
		{Name: "price", Type: &arrow.Decimal128Type{Precision: 15, Scale: 2}, Nullable: true},
	}, nil)
	r, _, err := array.RecordFromJSON(memory.DefaultAllocator, types, strings.NewReader(`[{"at":"2024-01-05T10:00:00Z","span":"90s","price":"12.50"},{}]`))
	if err != nil {
		t.Fatal(err)
	}
	_, canonical := mustImport(t, r)
	for i, want := range []string{"2024-01-05T10:00:00Z", "00:01:30", "12.50"} {
		c := canonical.Column(i)
		if c.ValueStr(0) != want || c.ValueStr(1) != array.NullValueStr {
			t.Errorf("%s: %s, %s", c.DataType(), c.ValueStr(0), c.ValueStr(1))
		}
	}
}
