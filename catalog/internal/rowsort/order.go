package rowsort

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
)

// order compares rows of batches of one schema.
type order []column

// column is one key of one batch.
type column struct {
	key    Key
	values arrow.Array
	// parents are the structs above the values; where one is null, so is the value.
	parents []arrow.Array
	// compare compares a value with one of another batch, neither null.
	compare func(i int, other arrow.Array, j int) int
}

func newOrder(b arrow.RecordBatch, keys []Key) (order, error) {
	var o order
	for _, k := range keys {
		c, err := newColumn(b, k)
		if err != nil {
			return nil, err
		}
		o = append(o, c)
	}
	return o, nil
}

func newColumn(b arrow.RecordBatch, k Key) (column, error) {
	c := column{key: k}
	at := b.Schema().FieldIndices(k.Path[0])
	if len(at) != 1 {
		return c, fmt.Errorf("%w: unknown column %q", errKey, k.Path[0])
	}
	c.values = b.Column(at[0])
	for _, member := range k.Path[1:] {
		parent, ok := c.values.(*array.Struct)
		if !ok {
			return c, fmt.Errorf("%w: %q is in no struct", errKey, strings.Join(k.Path, "."))
		}
		i, ok := parent.DataType().(*arrow.StructType).FieldIdx(member)
		if !ok {
			return c, fmt.Errorf("%w: unknown column %q", errKey, strings.Join(k.Path, "."))
		}
		c.parents = append(c.parents, parent)
		c.values = parent.Field(i)
	}
	if c.compare = comparison(c.values); c.compare == nil {
		return c, fmt.Errorf("%w: column %q is a %s", errKey, strings.Join(k.Path, "."), c.values.DataType())
	}
	return c, nil
}

// compare orders row i of this batch and row j of another.
func (o order) compare(i int, other order, j int) int {
	for k := range o {
		if c := o[k].rows(i, &other[k], j); c != 0 {
			return c
		}
	}
	return 0
}

func (c *column) rows(i int, other *column, j int) int {
	a, b := c.null(i), other.null(j)
	switch {
	case a && b:
		return 0
	case a || b:
		if a == c.key.NullsFirst {
			return -1
		}
		return 1
	}
	result := c.compare(i, other.values, j)
	if c.key.Descending {
		return -result
	}
	return result
}

func (c *column) null(i int) bool {
	for _, p := range c.parents {
		if p.IsNull(i) {
			return true
		}
	}
	return c.values.IsNull(i)
}

// compareDynamic orders JSON numbers by value, and behind them all other values by their text.
func compareDynamic(a, b []byte) int {
	x, xNumber := dynamicNumber(a)
	y, yNumber := dynamicNumber(b)
	switch {
	case xNumber && yNumber:
		return decimal.Compare(x, y)
	case xNumber || yNumber:
		return number(yNumber) - number(xNumber)
	}
	return bytes.Compare(literal.DynamicText(a), literal.DynamicText(b))
}

func dynamicNumber(json []byte) (decimal.Value, bool) {
	if len(json) == 0 || json[0] != '-' && (json[0] < '0' || json[0] > '9') {
		return decimal.Value{}, false
	}
	v, err := decimal.ParseRounded(string(json))
	return v, err == nil
}

// comparison compares the values of two arrays of the type of a; nil for types without an order.
func comparison(a arrow.Array) func(i int, other arrow.Array, j int) int {
	switch a := a.(type) {
	case *array.Boolean:
		return func(i int, b arrow.Array, j int) int {
			return number(a.Value(i)) - number(b.(*array.Boolean).Value(j))
		}
	case *array.LargeString:
		return func(i int, b arrow.Array, j int) int {
			return strings.Compare(a.Value(i), b.(*array.LargeString).Value(j))
		}
	case *array.LargeBinary:
		return func(i int, b arrow.Array, j int) int {
			return bytes.Compare(a.Value(i), b.(*array.LargeBinary).Value(j))
		}
	case *array.FixedSizeBinary:
		return func(i int, b arrow.Array, j int) int {
			return bytes.Compare(a.Value(i), b.(*array.FixedSizeBinary).Value(j))
		}
	case *arrowtype.DecimalArray:
		return func(i int, b arrow.Array, j int) int {
			return decimal.Compare(decimal.From(a.Value(i)), decimal.From(b.(*arrowtype.DecimalArray).Value(j)))
		}
	case *arrowtype.DynamicArray:
		return func(i int, b arrow.Array, j int) int {
			return compareDynamic(a.Storage().(*array.LargeBinary).Value(i), b.(*arrowtype.DynamicArray).Storage().(*array.LargeBinary).Value(j))
		}
	case array.ExtensionArray: // times, spans and guids are ordered as they are stored
		storage := comparison(a.Storage())
		if storage == nil {
			return nil
		}
		return func(i int, b arrow.Array, j int) int { return storage(i, b.(array.ExtensionArray).Storage(), j) }
	}
	return numbers(a)
}

func numbers(a arrow.Array) func(i int, other arrow.Array, j int) int {
	switch a := a.(type) {
	case *array.Int8:
		return compareOf(a.Int8Values(), func(b arrow.Array) []int8 { return b.(*array.Int8).Int8Values() })
	case *array.Int16:
		return compareOf(a.Int16Values(), func(b arrow.Array) []int16 { return b.(*array.Int16).Int16Values() })
	case *array.Int32:
		return compareOf(a.Int32Values(), func(b arrow.Array) []int32 { return b.(*array.Int32).Int32Values() })
	case *array.Int64:
		return compareOf(a.Int64Values(), func(b arrow.Array) []int64 { return b.(*array.Int64).Int64Values() })
	case *array.Uint8:
		return compareOf(a.Uint8Values(), func(b arrow.Array) []uint8 { return b.(*array.Uint8).Uint8Values() })
	case *array.Uint16:
		return compareOf(a.Uint16Values(), func(b arrow.Array) []uint16 { return b.(*array.Uint16).Uint16Values() })
	case *array.Uint32:
		return compareOf(a.Uint32Values(), func(b arrow.Array) []uint32 { return b.(*array.Uint32).Uint32Values() })
	case *array.Uint64:
		return compareOf(a.Uint64Values(), func(b arrow.Array) []uint64 { return b.(*array.Uint64).Uint64Values() })
	case *array.Float32:
		return func(i int, b arrow.Array, j int) int {
			return compareFloats(float64(a.Value(i)), float64(b.(*array.Float32).Value(j)))
		}
	case *array.Float64:
		return func(i int, b arrow.Array, j int) int { return compareFloats(a.Value(i), b.(*array.Float64).Value(j)) }
	}
	return nil
}

func compareOf[T cmp.Ordered](values []T, of func(arrow.Array) []T) func(i int, other arrow.Array, j int) int {
	return func(i int, b arrow.Array, j int) int { return cmp.Compare(values[i], of(b)[j]) }
}

// compareFloats puts NaN behind everything.
func compareFloats(a, b float64) int {
	switch {
	case math.IsNaN(a) || math.IsNaN(b):
		return number(math.IsNaN(a)) - number(math.IsNaN(b))
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}
