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
