package fileio_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/fileio"
)

// TestNullsOfRequiredFieldsAreNotWritten: Parquet has no place for a null of a required field, and the values behind it would stand one
// row too early.
func TestNullsOfRequiredFieldsAreNotWritten(t *testing.T) {
	for _, c := range []struct{ schema, rows, refused string }{
		{"id: Int64, v: Int64 not null", `[{"id":1,"v":null},{"id":2,"v":5}]`, `row 0 of the batch, field "v"`},
		{"id: Int64, v: Int64", `[{"id":1,"v":null},{"id":2,"v":5}]`, ""},
		{"s: Struct<a: String not null, b: Int64>", `[{"s":{"a":"x","b":null}},{"s":{"a":null,"b":1}}]`, `row 1 of the batch, field "s.a"`},
		{"s: Struct<m: Struct<x: Int64 not null> not null>", `[{"s":null},{"s":{"m":{"x":1}}}]`, ""},
		{"l: List<Float64 not null>", `[{"l":[1,null]}]`, `row 0 of the batch, field "l.item"`},
	} {
		s, loose := parse(t, c.schema), parse(t, strings.ReplaceAll(c.schema, " not null", ""))
		b, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrowtype.Schema(loose), strings.NewReader(c.rows))
		if err != nil {
			t.Fatal(err)
		}
		b = array.NewRecordBatch(arrowtype.Schema(s), retyped(arrowtype.Schema(s), b), b.NumRows())
		for _, f := range []fileio.Format{fileio.Parquet, fileio.Arrow, fileio.ArrowStream} {
			var out bytes.Buffer
			sink, err := fileio.NewSink(f, &out, s, fileio.SinkOptions{})
			if err != nil {
				t.Fatal(err)
			}
			err = sink.Write(b)
			if (err == nil) != (c.refused == "") || err != nil && (!errors.Is(err, arrowtype.ErrColumn) || !strings.Contains(err.Error(), c.refused)) {
				t.Errorf("%s of %s as %s: %v, want %q", c.rows, c.schema, f, err, c.refused)
			}
			if err == nil {
				err = sink.Close()
			}
			if err != nil && c.refused == "" {
				t.Errorf("%s as %s: %v", c.schema, f, err)
			}
		}
	}
}

// retyped are the columns of a batch as those of a schema that differs in what may be null.
func retyped(s *arrow.Schema, b arrow.RecordBatch) []arrow.Array {
	columns := make([]arrow.Array, b.NumCols())
	for i, a := range b.Columns() {
		columns[i] = array.MakeFromData(retypedData(s.Field(i).Type, a.Data()))
	}
	return columns
}

func retypedData(t arrow.DataType, d arrow.ArrayData) arrow.ArrayData {
	var children []arrow.ArrayData
	if n, ok := t.(arrow.NestedType); ok {
		for i, c := range d.Children() {
			children = append(children, retypedData(n.Fields()[i].Type, c))
		}
	}
	return array.NewData(t, d.Len(), d.Buffers(), children, d.NullN(), d.Offset())
}
