package view

import (
	"testing"

	"github.com/apache/iceberg-go"
)

func icebergSchema(types ...iceberg.Type) *iceberg.Schema {
	var fields []iceberg.NestedField
	for i, typ := range types {
		fields = append(fields, iceberg.NestedField{ID: i + 1, Name: string(rune('a' + i)), Type: typ})
	}
	return iceberg.NewSchema(0, fields...)
}

// TestTypeOf: files have the widest decimal of their column, whatever the order of schemas is, and the table's dates and times.
func TestTypeOf(t *testing.T) {
	narrow := icebergSchema(iceberg.DecimalTypeOf(9, 2), iceberg.PrimitiveTypes.Date, iceberg.PrimitiveTypes.Int32)
	wide := icebergSchema(iceberg.DecimalTypeOf(18, 2), iceberg.PrimitiveTypes.Date, iceberg.PrimitiveTypes.Int64, iceberg.PrimitiveTypes.Timestamp)
	for name, schemas := range map[string][]*iceberg.Schema{"widened": {narrow, wide}, "reversed": {wide, narrow}} {
		for id, want := range map[int]string{1: "decimal(18, 2)", 2: "date", 3: "", 4: "timestamp", 5: ""} {
			if got := typeOf(schemas, id); got != want {
				t.Errorf("%s: column %d: %q, want %q", name, id, got, want)
			}
		}
	}
}

// TestLayoutsOfSchemas: a name has another layout when a decimal is widened, and where shards were adopted when columns have other names; other
// changes leave it. Every layout that the table had leads back to its state.
func TestLayoutsOfSchemas(t *testing.T) {
	schema := func(id int, types ...iceberg.Type) *iceberg.Schema {
		s := icebergSchema(types...)
		s.ID = id
		return s
	}
	narrow, wide := iceberg.DecimalTypeOf(9, 2), iceberg.DecimalTypeOf(18, 2)
	long, text := iceberg.PrimitiveTypes.Int64, iceberg.PrimitiveTypes.String
	plain := []*iceberg.Schema{schema(0, iceberg.PrimitiveTypes.Int32), schema(1, long), schema(2, long, text)}
	for n := 1; n <= len(plain); n++ {
		if s := stateOf(plain[:n], false); s.layout != Layout {
			t.Errorf("%d schemas without decimals: layout %s", n, s.layout)
		}
	}
	decimals := []*iceberg.Schema{schema(0, narrow), schema(1, narrow, text), schema(2, wide, text), schema(3, wide)}
	all := stateOf([]*iceberg.Schema{decimals[3], decimals[1], decimals[0], decimals[2]}, false)
	var layouts []string
	for n := 1; n <= len(decimals); n++ {
		before := stateOf(decimals[:n], false)
		layouts = append(layouts, before.layout)
		found, ok := all.in(before.layout)
		if !ok || found.layout != before.layout || typeOf(found.schemas, 1) != typeOf(decimals[:n], 1) {
			t.Errorf("%d schemas: %v, %s", n, ok, found.layout)
		}
	}
	if layouts[0] != layouts[1] || layouts[1] == layouts[2] || layouts[2] != layouts[3] || layouts[0] == Layout {
		t.Errorf("layouts %v", layouts)
	}
	for _, unknown := range []string{Layout, "0.9", Layout + "-0123456789abcdef", ""} {
		if _, ok := all.in(unknown); ok {
			t.Errorf("layout %q is known", unknown)
		}
	}
	if _, ok := new(state).in(Layout); ok {
		t.Error("a table without schemas has a layout")
	}
	adopted := stateOf(plain, true)
	if more := stateOf(append(plain[:3:3], schema(3, long, text, text)), true); more.layout == adopted.layout || adopted.layout == Layout {
		t.Errorf("a column was added to a table with adopted shards: layout %s, before %s", more.layout, adopted.layout)
	}
	if before, ok := adopted.in(Layout); !ok || before.adopted {
		t.Error("the layout before the first shard was adopted is unknown")
	}
}
