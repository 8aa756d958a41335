package arrowtype

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// TestInUnit: times get the unit wherever they are nested, and nothing else changes.
func TestInUnit(t *testing.T) {
	at := arrow.FixedWidthTypes.Timestamp_us
	meta := arrow.NewMetadata([]string{"k"}, []string{"v"})
	s := arrow.NewSchema([]arrow.Field{
		{Name: "list", Type: arrow.ListOf(at)},
		{Name: "fixed", Type: arrow.FixedSizeListOf(2, arrow.FixedWidthTypes.Duration_ns)},
		{Name: "large", Type: arrow.LargeListOf(arrow.StructOf(arrow.Field{Name: "at", Type: at, Metadata: meta}))},
		{Name: "map", Type: arrow.MapOf(arrow.BinaryTypes.String, at)},
		{Name: "n", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	}, &meta)
	got, err := InUnit(s, "s")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		"list<item: timestamp[s, tz=UTC], nullable>", "fixed_size_list<item: duration[s], nullable>[2]",
		"large_list<item: struct<at: timestamp[s, tz=UTC]>, nullable>", "map<utf8, timestamp[s, tz=UTC], items_nullable>", "int32",
	} {
		if f := got.Field(i); f.Type.String() != want || f.Nullable != s.Field(i).Nullable {
			t.Errorf("%s: %v, want %s", f.Name, f.Type, want)
		}
	}
	if v, _ := got.Metadata().GetValue("k"); v != "v" {
		t.Error("the metadata is lost")
	}
	if none, err := InUnit(nil, "ms"); none != nil || err != nil {
		t.Errorf("of none: %v, %v", none, err)
	}
	if _, err := InUnit(s, "min"); err == nil {
		t.Error("a unit that is none")
	}
}
