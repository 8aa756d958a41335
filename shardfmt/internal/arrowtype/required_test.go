package arrowtype

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// TestCheckNulls: a null where the schema has none is found at any depth, and excused by nulls above it; whether the schema is a shard's or
// Arrow's makes no difference, nor whether the batch is a slice.
func TestCheckNulls(t *testing.T) {
	for _, c := range []struct{ schema, rows, found string }{
		{"a: Int64 not null", `[{"a":1},{"a":2}]`, ""},
		{"a: Int64 not null", `[{"a":1},{"a":null}]`, `row 1 of the batch, field "a"`},
		{"s: Struct<m: Struct<x: Int64 not null> not null>", `[{"s":null},{"s":{"m":{"x":1}}}]`, ""},
		{"s: Struct<m: Struct<x: Int64 not null> not null>", `[{"s":null},{"s":{"m":{"x":null}}}]`, `row 1 of the batch, field "s.m.x"`},
		{"s: Struct<m: Struct<x: Int64 not null> not null>", `[{"s":null},{"s":{"m":null}}]`, `row 1 of the batch, field "s.m"`},
		{"s: Struct<m: Struct<x: Int64 not null>>", `[{"s":{"m":null}},{"s":{"m":{"x":null}}}]`, `row 1 of the batch, field "s.m.x"`},
		{"l: List<Int64 not null>", `[{"l":null},{"l":[]},{"l":[1,2]}]`, ""},
		{"l: List<Int64 not null>", `[{"l":[1]},{"l":[1,null]}]`, `row 1 of the batch, field "l.item"`},
		{"l: List<Struct<k: Struct<x: Int64 not null> not null>>", `[{"l":[null]},{"l":[{"k":{"x":1}}]}]`, ""},
		{"l: List<Struct<k: Struct<x: Int64 not null> not null>>", `[{"l":[null]},{"l":[{"k":{"x":null}}]}]`, `row 1 of the batch, field "l.item.k.x"`},
		{"s: Struct<l: List<Int64 not null>>", `[{"s":null},{"s":{"l":[null]}}]`, `row 1 of the batch, field "s.l.item"`},
		{"m: Map<String, Int64 not null>", `[{"m":[{"key":"k","value":1}]},{"m":null}]`, ""},
		{"m: Map<String, Int64 not null>", `[{"m":[]},{"m":[{"key":"k","value":null}]}]`, `row 1 of the batch, field "m.value"`},
		{"m: Map<String, Struct<x: Int64 not null>>", `[{"m":[]},{"m":[{"key":"k","value":{"x":null}}]}]`, `row 1 of the batch, field "m.value.x"`},
	} {
		s, err := schema.Parse(c.schema)
		if err != nil {
			t.Fatal(err)
		}
		loose, err := schema.Parse(strings.ReplaceAll(c.schema, " not null", ""))
		if err != nil {
			t.Fatal(err)
		}
		b, _, err := array.RecordFromJSON(memory.DefaultAllocator, Schema(loose), strings.NewReader(c.rows))
		if err != nil {
			t.Fatal(c.schema, err)
		}
		for _, nodes := range [][]*schema.Node{s.Fields, Demanding(Schema(s).Fields())} {
			err := CheckNulls(b, nodes)
			if (err == nil) != (c.found == "") || err != nil && (!errors.Is(err, ErrColumn) || !strings.Contains(err.Error(), c.found)) {
				t.Errorf("%s in %s: %v, want %q", c.rows, c.schema, err, c.found)
			}
			if err := CheckNulls(b.NewSlice(0, 1), nodes); err != nil {
				t.Errorf("the first row of %s in %s: %v", c.rows, c.schema, err)
			}
			err = CheckNulls(b.NewSlice(1, b.NumRows()), nodes)
			if want := strings.Replace(c.found, "row 1", "row 0", 1); (err == nil) != (c.found == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("behind the first row of %s in %s: %v, want %q", c.rows, c.schema, err, want)
			}
		}
	}
}
