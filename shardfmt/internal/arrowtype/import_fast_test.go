package arrowtype_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
)

// Columns without nulls are converted in one loop, others value by value: what comes out is the same, and what is refused.
func TestImportInOneLoop(t *testing.T) {
	for _, c := range []struct {
		kind   arrow.DataType
		values string
		bad    string // a value that is refused
	}{
		{arrow.FixedWidthTypes.Date32, `-719162, -1, 0, 20780, 2932896`, `2932897`},
		{&arrow.TimestampType{Unit: arrow.Second}, `-62135596800, 0, 1, 253402300799`, `253402300800`},
		{&arrow.TimestampType{Unit: arrow.Millisecond}, `-62135596800000, -1, 253402300799999`, `-62135596800001`},
		{&arrow.TimestampType{Unit: arrow.Microsecond}, `-62135596800000000, 7, 253402300799999999`, `253402300800000000`},
		{&arrow.TimestampType{Unit: arrow.Nanosecond}, `-100, 0, 1700000000000000000`, ``},
		{&arrow.Decimal128Type{Precision: 38, Scale: 2}, `"0", "-0.01", "1.25", "-999999999999999.99", "99999999999999999999.25"`, `"999999999999999999999999999999999999"`},
		{&arrow.Decimal128Type{Precision: 5, Scale: -3}, `"1000", "-25000"`, ``},
	} {
		whole, err := importedOf(t, c.kind, c.values)
		if err != nil {
			t.Errorf("%v: %v", c.kind, err)
			continue
		}
		one, err := importedOf(t, c.kind, c.values+", null")
		if err != nil {
			t.Errorf("%v with a null: %v", c.kind, err)
			continue
		}
		if part := array.NewSlice(one, 0, int64(whole.Len())); !array.Equal(whole, part) {
			t.Errorf("%v: %v in one loop, %v value by value", c.kind, whole, part)
		}
		if c.bad == "" {
			continue
		}
		var row *arrowtype.RowError
		if _, err := importedOf(t, c.kind, c.values+", "+c.bad); !errors.As(err, &row) || row.Row != int64(whole.Len()) {
			t.Errorf("%v of %s: %v", c.kind, c.bad, err)
		}
	}
}

// importedOf makes an array of JSON values, dates as their days, and imports it.
func importedOf(t *testing.T, kind arrow.DataType, values string) (arrow.Array, error) {
	t.Helper()
	from := kind
	if kind.ID() == arrow.DATE32 {
		from = arrow.PrimitiveTypes.Int32
	}
	a, _, err := array.FromJSON(memory.DefaultAllocator, from, strings.NewReader("["+values+"]"))
	if err != nil {
		t.Fatal(err)
	}
	a = array.MakeFromData(array.NewData(kind, a.Len(), a.Data().Buffers(), nil, a.NullN(), 0))
	types := arrow.NewSchema([]arrow.Field{{Name: "a", Type: kind, Nullable: true}}, nil)
	s, _, err := arrowtype.FromArrow(types)
	if err != nil {
		t.Fatal(err)
	}
	im, err := arrowtype.NewImporter(types, s, arrowtype.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := im.Import(array.NewRecordBatch(types, []arrow.Array{a}, int64(a.Len())))
	if err != nil {
		return nil, err
	}
	return batch.Column(0), nil
}
