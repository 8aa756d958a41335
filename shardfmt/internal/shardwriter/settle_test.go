package shardwriter

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// unsettled are the arrays below a whose nulls nobody has counted.
func unsettled(a arrow.Array) int {
	n := 0
	if a.Data().NullN() < 0 {
		n++
	}
	switch a := a.(type) {
	case *array.Struct:
		for i := range a.NumField() {
			n += unsettled(a.Field(i))
		}
	case *array.Map:
		n += unsettled(a.Keys()) + unsettled(a.Items())
	case array.ListLike:
		n += unsettled(a.ListValues())
	}
	return n
}

// After settle no reader of an array writes to it.
func TestSettle(t *testing.T) {
	text := arrow.Field{Name: "t", Type: arrow.BinaryTypes.String, Nullable: true}
	number := arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}
	types := []arrow.DataType{
		text.Type,
		arrow.StructOf(text, arrow.Field{Name: "s", Type: arrow.StructOf(number, text), Nullable: true}),
		arrow.ListOf(arrow.StructOf(text)),
		arrow.FixedSizeListOf(2, number.Type),
		arrow.MapOf(arrow.BinaryTypes.String, arrow.StructOf(number)),
	}
	rows := []string{
		`["a", null, "b", null]`,
		`[{"t": "a", "s": {"n": 1, "t": null}}, {"t": null, "s": null}, null, {"t": "b", "s": {"n": null, "t": "c"}}]`,
		`[[{"t": "a"}, null], null, [], [{"t": null}]]`,
		`[[1, null], null, [null, null], [2, 3]]`,
		`[[{"key": "a", "value": {"n": null}}], null, [], [{"key": "b", "value": null}]]`,
	}
	counted := 0
	for i, typ := range types {
		a, _, err := array.FromJSON(memory.DefaultAllocator, typ, strings.NewReader(rows[i]))
		if err != nil {
			t.Fatal(err)
		}
		part := array.NewSlice(a, 1, 4) // of which nobody knows the nulls
		counted += unsettled(part)
		if settle(part); unsettled(part) != 0 {
			t.Errorf("%s: nulls of %d arrays are to be counted yet", typ, unsettled(part))
		}
	}
	if counted < len(types) {
		t.Errorf("%d arrays of unknown nulls, so the test tells nothing", counted)
	}
}
