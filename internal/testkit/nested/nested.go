// Package nested makes rows of every nested type, by their row numbers, with nulls at every level. Tests of clients read them
// below, at and above the sizes of batches that engines have, and compare with rows generated independently.
package nested

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Sizes are the rows of tables: below, at and above the 2,048 rows of DuckDB's vectors, and more than two of them.
var Sizes = []int{1, 2047, 2048, 2049, 5000}

// column is a column and its values by row number: as arrow-go reads them from JSON and, where that is not the same, as shardcat
// prints them.
type column struct {
	name    string
	t       arrow.DataType
	value   func(i int) any
	printed func(i int) any
}

// object is a JSON object.
type object = map[string]any

// unless is a value, or null in every n-th row.
func unless(i, n int, v any) any {
	if i%n == 0 {
		return nil
	}
	return v
}

func text(i int) string { return fmt.Sprint("a text that is longer than a view: ", i) }

func packed(i int) string { return base64.StdEncoding.EncodeToString([]byte(text(i))) }

// some are the first i%(n+1) of n values.
func some(i int, values ...any) []any { return append([]any{}, values[:i%(len(values)+1)]...) }

func field(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

var (
	whole  = arrow.PrimitiveTypes.Int64
	pair   = arrow.StructOf(field("a", whole), field("b", arrow.BinaryTypes.String))
	lists  = arrow.StructOf(field("a", whole), field("l", arrow.ListOf(whole)))
	epoch  = time.Date(1969, 12, 30, 0, 0, 0, 0, time.UTC)
	second = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
)

func pairOf(i int) any {
	return object{"a": unless(i, 5, i), "b": unless(i, 7, text(i))}
}

func day(i int) time.Time { return epoch.AddDate(0, 0, i) }

func moment(i int) time.Time { return epoch.Add(time.Duration(i) * 1234567 * time.Microsecond) }

var columns = []column{
	{"id", whole, func(i int) any { return i }, nil},
	{"odd", arrow.PrimitiveTypes.Int32, func(i int) any { return i % 2 }, nil},
	{"struct", pair, func(i int) any { return unless(i, 3, pairOf(i)) }, nil},
	{"structs", arrow.StructOf(field("s", pair), field("x", arrow.PrimitiveTypes.Uint8)), func(i int) any {
		return unless(i, 11, object{"s": unless(i, 4, pairOf(i)), "x": i % 256})
	}, nil},
	{"list", arrow.ListOf(whole), func(i int) any { return unless(i, 6, some(i, i, nil, i+1)) }, nil},
	{"large", arrow.LargeListOf(arrow.BinaryTypes.LargeString), func(i int) any { return unless(i, 6, some(i, text(i), nil, "")) }, nil},
	{"lists", arrow.ListOf(arrow.ListOf(whole)), func(i int) any { return unless(i, 8, some(i, some(i, i, nil), nil, []any{})) }, nil},
	{"list_of_structs", arrow.ListOf(lists), func(i int) any {
		return unless(i, 7, some(i, object{"a": i, "l": unless(i, 2, some(i, i, nil, -i))}, nil, object{"a": nil, "l": nil}))
	}, nil},
	{"struct_of_lists", arrow.StructOf(field("l", arrow.ListOf(whole)), field("s", arrow.ListOf(pair))), func(i int) any {
		return unless(i, 9, object{"l": unless(i, 2, some(i, i, nil)), "s": unless(i, 5, some(i, pairOf(i), nil))})
	}, nil},
	{"map", arrow.MapOf(arrow.BinaryTypes.String, whole), func(i int) any {
		return unless(i, 5, some(i, object{"key": fmt.Sprint("k", i), "value": i}, object{"key": "same", "value": nil}))
	}, nil},
	{"map_of_structs", arrow.MapOf(whole, pair), func(i int) any { return some(i, object{"key": i, "value": unless(i, 2, pairOf(i))}) }, nil},
	{"fixed", arrow.FixedSizeListOf(3, whole), func(i int) any { return unless(i, 4, []any{i, unless(i, 3, -i), i + 1}) }, nil},
	{"struct_of_fixed", arrow.StructOf(field("f", arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float64))), func(i int) any {
		return unless(i, 5, object{"f": unless(i, 3, []any{float64(i) / 2, nil})})
	}, nil},
	{"decimal", &arrow.Decimal128Type{Precision: 12, Scale: 2}, func(i int) any { return unless(i, 5, fmt.Sprintf("%d.%02d", i-7000, i%100)) }, nil},
	{"date", arrow.FixedWidthTypes.Date32, func(i int) any { return unless(i, 5, day(i).Format("2006-01-02")) }, func(i int) any {
		return unless(i, 5, day(i).Format(time.RFC3339))
	}},
	{"moment", second, func(i int) any { return unless(i, 5, moment(i).Format("2006-01-02T15:04:05.999999Z")) }, func(i int) any {
		return unless(i, 5, moment(i).Format("2006-01-02T15:04:05.999999Z"))
	}},
	{"times", arrow.ListOf(second), func(i int) any { return some(i, moment(i).Format("2006-01-02T15:04:05.999999Z"), nil) }, nil},
	{"binary", arrow.BinaryTypes.Binary, func(i int) any { return unless(i, 5, packed(i)) }, nil},
	{"binaries", arrow.ListOf(&arrow.FixedSizeBinaryType{ByteWidth: 4}), func(i int) any {
		return some(i, base64.StdEncoding.EncodeToString([]byte{byte(i), byte(i >> 8), 0, 255}), nil)
	}, nil},
	{"text_view", arrow.BinaryTypes.StringView, func(i int) any { return unless(i, 5, text(i)[i%30:]) }, nil},
	{"binary_views", arrow.ListOf(arrow.BinaryTypes.BinaryView), func(i int) any { return some(i, packed(i), nil) }, nil},
	{"flag", arrow.ListOf(arrow.FixedWidthTypes.Boolean), func(i int) any { return some(i, i%3 == 0, nil, i%2 == 0) }, nil},
}

// Schema of the rows.
func Schema() *arrow.Schema {
	var fields []arrow.Field
	for _, c := range columns {
		fields = append(fields, field(c.name, c.t))
	}
	return arrow.NewSchema(fields, nil)
}

// Batch has the rows of these numbers.
func Batch(rows []int) (arrow.RecordBatch, error) {
	values := make([]object, len(rows))
	for at, i := range rows {
		values[at] = object{}
		for _, c := range columns {
			values[at][c.name] = c.value(i)
		}
	}
	b, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	out, _, err := array.RecordFromJSON(memory.DefaultAllocator, Schema(), strings.NewReader(string(b)))
	return out, err
}

// Printed is a row as JSON that shardcat prints for it, decoded.
func Printed(i int) (row any, err error) {
	values := object{}
	for _, c := range columns {
		print := c.printed
		if print == nil {
			print = c.value
		}
		values[c.name] = print(i)
	}
	b, err := json.Marshal(values)
	if err == nil {
		err = json.Unmarshal(b, &row)
	}
	return row, err
}

// Numbers are the row numbers below n for which keep is true.
func Numbers(n int, keep func(i int) bool) (rows []int) {
	for i := range n {
		if keep(i) {
			rows = append(rows, i)
		}
	}
	return rows
}

// Compare reads batches to their end and compares them with the rows of these numbers, column by column and type by type.
func Compare(r array.RecordReader, rows []int) error {
	want := Schema()
	if !r.Schema().Equal(want) {
		return fmt.Errorf("the schema is %s, want %s", r.Schema(), want)
	}
	for r.Next() {
		b := r.RecordBatch()
		if b.NumRows() > int64(len(rows)) {
			return fmt.Errorf("more rows than the %d that are left", len(rows))
		}
		same, err := Batch(rows[:b.NumRows()])
		if err != nil {
			return err
		}
		for at, c := range same.Columns() {
			if !array.Equal(c, b.Column(at)) {
				return differs(columns[at].name, rows, b.Column(at), c)
			}
		}
		rows = rows[b.NumRows():]
	}
	if len(rows) > 0 {
		return fmt.Errorf("%d rows are missing", len(rows))
	}
	return r.Err()
}

// differs names the first value that is another.
func differs(name string, rows []int, got, want arrow.Array) error {
	for at := range want.Len() {
		if !array.SliceEqual(got, int64(at), int64(at+1), want, int64(at), int64(at+1)) {
			return fmt.Errorf("%s of row %d is %s, want %s", name, rows[at], got.ValueStr(at), want.ValueStr(at))
		}
	}
	return fmt.Errorf("%s differs", name)
}
