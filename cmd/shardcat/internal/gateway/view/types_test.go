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
	if a, b := decimalTypes([]*iceberg.Schema{narrow}), decimalTypes([]*iceberg.Schema{narrow, wide}); a == b || a == "" {
		t.Errorf("types of decimals before and after one was widened: %q, %q", a, b)
	}
	if a, b := decimalTypes([]*iceberg.Schema{narrow, wide}), decimalTypes([]*iceberg.Schema{wide}); a != b {
		t.Errorf("types of decimals depend on other columns: %q, %q", a, b)
	}
}

// TestWidenedDecimalsAreMadeAnew: what is cached of a table goes when its decimals have other types, of other tables it stays.
func TestWidenedDecimalsAreMadeAnew(t *testing.T) {
	c, seen := newCache(1<<20), seenTypes{all: map[string]string{}}
	kept := func() (out string) {
		for _, key := range []string{"a/1", "a/2", "b/1"} {
			if c.get(key) != nil {
				out += key + " "
			}
		}
		return out
	}
	for _, key := range []string{"a/1", "a/2", "b/1"} {
		c.put(key, blob("x"))
	}
	for _, step := range []struct{ table, types, want string }{
		{"a", "1 decimal(9, 2);", "a/1 a/2 b/1 "}, {"b", "", "a/1 a/2 b/1 "}, {"a", "1 decimal(9, 2);", "a/1 a/2 b/1 "}, {"a", "1 decimal(18, 2);", "b/1 "},
	} {
		seen.check(c, step.table, step.types)
		if got := kept(); got != step.want {
			t.Errorf("%v: %q is cached", step, got)
		}
	}
	if c.used != blob("x").Memory()+3+256 {
		t.Errorf("%d bytes are used", c.used)
	}
}
