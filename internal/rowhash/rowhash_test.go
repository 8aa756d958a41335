package rowhash

import (
	"bytes"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// values are, by type, JSON arrays of values that are all different.
func values() map[arrow.DataType]string {
	list := arrow.ListOf(arrow.BinaryTypes.String)
	return map[arrow.DataType]string{
		arrow.PrimitiveTypes.Int8:                                            `[null, 0, 1, -1]`,
		arrow.PrimitiveTypes.Uint64:                                          `[null, 0, 18446744073709551615]`,
		arrow.PrimitiveTypes.Float64:                                         `[null, 0, 1.5]`,
		arrow.FixedWidthTypes.Boolean:                                        `[null, true, false]`,
		arrow.BinaryTypes.LargeString:                                        `[null, "", "a", "ab"]`,
		arrow.BinaryTypes.LargeBinary:                                        `[null, "", "AA=="]`,
		&arrow.FixedSizeBinaryType{ByteWidth: 2}:                             `[null, "AAA=", "AAE="]`,
		list:                                                                 `[null, [], [null], ["a"], ["a", "b"], ["ab"], [""]]`,
		arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int32):                 `[null, [1, 2], [2, 1], [null, 1]]`,
		arrow.MapOf(arrow.BinaryTypes.String, list):                          `[null, [], [{"key":"a","value":[]}], [{"key":"a","value":null}]]`,
		arrow.StructOf(arrow.Field{Name: "x", Type: list, Nullable: true}):   `[null, {"x": null}, {"x": []}]`,
		arrowtype.Type(&schema.Node{Basic: schema.DateTime, Nullable: true}): `[null, 5, 6]`,
	}
}

func TestEqualBytesMeanEqualValues(t *testing.T) {
	for typ, text := range values() {
		a, _, err := array.FromJSON(memory.DefaultAllocator, typ, strings.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", typ, err)
		}
		for i := range a.Len() {
			b, err := Append(nil, a, i)
			if err != nil {
				t.Fatalf("%s: %v", typ, err)
			}
			again, err := Append(nil, array.NewSlice(a, int64(i), int64(a.Len())), 0)
			if err != nil || !bytes.Equal(b, again) {
				t.Errorf("%s, value %d: %x, in a slice %x, %v", typ, i, b, again, err)
			}
			for j := range i {
				if other, _ := Append(nil, a, j); bytes.HasPrefix(b, other) || bytes.HasPrefix(other, b) {
					t.Errorf("%s: values %d and %d can't be told apart", typ, j, i)
				}
			}
		}
	}
}

// Rows that are written column by column have the bytes that Append gives value by value, wherever the arrays begin and end.
func TestRows(t *testing.T) {
	var columns []arrow.Array
	const n = 40
	for typ, text := range values() {
		a, _, err := array.FromJSON(memory.DefaultAllocator, typ, strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		parts := make([]arrow.Array, 0, n)
		for i := range n + 9 {
			at := int64(i * 7 % 11 % a.Len())
			parts = append(parts, array.NewSlice(a, at, at+1))
		}
		long, err := array.Concatenate(parts, memory.DefaultAllocator)
		if err != nil {
			t.Fatal(err)
		}
		for from := range int64(9) { // with nulls, and before and behind them
			columns = append(columns, array.NewSlice(long, from, from+n))
		}
		columns = append(columns, withoutNulls(t, long, n))
	}
	columns = append(columns, texts(n, 0), texts(n, 120), texts(n, 16_370))
	var r Rows
	for _, some := range [][]arrow.Array{nil, columns[:1], columns, columns[5:]} {
		for _, span := range [][2]int{{0, n}, {0, 0}, {3, 4}, {7, n - 1}, {n, n}} {
			if err := r.Set(some, span[0], span[1]); err != nil {
				t.Fatal(err)
			}
			for i := span[0]; i < span[1]; i++ {
				var want []byte
				for _, a := range some {
					var err error
					if want, err = Append(want, a, i); err != nil {
						t.Fatal(err)
					}
				}
				if got := r.Row(i - span[0]); !bytes.Equal(got, want) {
					t.Fatalf("row %d of %v of %d columns: %x, value by value %x", i, span, len(some), got, want)
				}
			}
		}
	}
	if n := testing.AllocsPerRun(10, func() { _ = r.Set(columns[len(columns)-3:], 0, n) }); n > 0 {
		t.Errorf("%v allocations for rows of texts", n)
	}
}

// withoutNulls repeats the second value of an array, which is not null.
func withoutNulls(t *testing.T, a arrow.Array, n int) arrow.Array {
	t.Helper()
	for i := range a.Len() {
		if a.IsValid(i) {
			parts := make([]arrow.Array, n)
			for k := range parts {
				parts[k] = array.NewSlice(a, int64(i), int64(i)+1)
			}
			out, err := array.Concatenate(parts, memory.DefaultAllocator)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
	}
	t.Fatal("only nulls")
	return nil
}

// texts are n texts of a length and of more, around where lengths take a byte more.
func texts(n, length int) arrow.Array {
	b := array.NewLargeStringBuilder(memory.DefaultAllocator)
	for i := range n {
		b.Append(strings.Repeat("x", length+i))
	}
	return b.NewArray()
}

// What Append refuses is refused.
func TestRowsOfUnknownTypes(t *testing.T) {
	b := array.NewStringViewBuilder(memory.DefaultAllocator)
	b.Append("text")
	a := b.NewArray()
	if _, err := Append(nil, a, 0); err == nil {
		t.Fatal("Append knows the type")
	}
	if err := new(Rows).Set([]arrow.Array{texts(1, 1), a}, 0, 1); err == nil || !strings.Contains(err.Error(), "rowhash: values of type") {
		t.Error(err)
	}
}
