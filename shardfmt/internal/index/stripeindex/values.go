package stripeindex

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/internal/index/hashindex"
	"github.com/shardcat/shardcat/shardfmt/internal/index/layerindex"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// each calls do with the leaf values of row after row: their array, and where in it they lie.
type each func(row int, do func(i int) error) error

// leaves opens a column of a batch.
func (c *column) leaves(b arrow.RecordBatch) (arrow.Array, each) {
	a := b.Column(c.top)
	walk := func(row int, do func(i int) error) error { return do(row) }
	for k, n := range c.path[1:] {
		switch parent := a.(type) {
		case *array.Struct:
			outer := walk
			walk = func(row int, do func(i int) error) error {
				return outer(row, func(i int) error {
					if parent.IsNull(i) {
						return nil
					}
					return do(i)
				})
			}
			a = parent.Field(childIndex(c.path[k], n))
		case *array.LargeList:
			outer := walk
			walk = func(row int, do func(i int) error) error {
				return outer(row, func(i int) error {
					if parent.IsNull(i) {
						return nil
					}
					from, to := parent.ValueOffsets(i)
					for ; from < to; from++ {
						if err := do(int(from)); err != nil {
							return err
						}
					}
					return nil
				})
			}
			a = parent.ListValues()
		}
	}
	if e, ok := a.(array.ExtensionArray); ok {
		a = e.Storage()
	}
	return a, walk
}

func childIndex(parent, child *schema.Node) int {
	for i, c := range parent.Children {
		if c == child {
			return i
		}
	}
	return 0
}

// textOf gives the bytes of the texts of an array.
func textOf(a arrow.Array) (func(i int) []byte, error) {
	var offsets []int64
	switch a := a.(type) {
	case *array.LargeString:
		offsets = a.ValueOffsets()
	case *array.LargeBinary: // of a Dynamic
		offsets = a.ValueOffsets()
	default:
		return nil, fmt.Errorf("a text index of %v", a.DataType())
	}
	data := a.Data().Buffers()[2]
	if data == nil {
		return func(int) []byte { return nil }, nil
	}
	bytes := data.Bytes()
	return func(i int) []byte { return bytes[offsets[i]:offsets[i+1]] }, nil
}

// integers gives the values of an array of integers as 64 bits, to which those of signed ones are extended by their sign; ok is false for any
// other array.
func integers(a arrow.Array) (value func(i int) uint64, signed, ok bool) {
	switch a := a.(type) {
	case *array.Int8:
		return func(i int) uint64 { return uint64(a.Value(i)) }, true, true
	case *array.Int16:
		return func(i int) uint64 { return uint64(a.Value(i)) }, true, true
	case *array.Int32:
		return func(i int) uint64 { return uint64(a.Value(i)) }, true, true
	case *array.Int64:
		return func(i int) uint64 { return uint64(a.Value(i)) }, true, true
	case *array.Uint8:
		return func(i int) uint64 { return uint64(a.Value(i)) }, false, true
	case *array.Uint16:
		return func(i int) uint64 { return uint64(a.Value(i)) }, false, true
	case *array.Uint32:
		return func(i int) uint64 { return uint64(a.Value(i)) }, false, true
	case *array.Uint64:
		return a.Value, false, true
	}
	return nil, false, false
}

// keyBytes gives the bytes of values in the keys of a hash index, appended to a buffer.
func keyBytes(a arrow.Array, basic schema.Basic) (func(dst []byte, i int) []byte, error) {
	if value, _, ok := integers(a); ok {
		return func(dst []byte, i int) []byte { return hashindex.AppendInteger(dst, basic, value(i)) }, nil
	}
	switch a := a.(type) {
	case *array.Boolean:
		return func(dst []byte, i int) []byte { return hashindex.AppendBool(dst, a.Value(i)) }, nil
	case *array.LargeString:
		return func(dst []byte, i int) []byte { return append(dst, a.Value(i)...) }, nil
	case *array.LargeBinary:
		return func(dst []byte, i int) []byte { return append(dst, a.Value(i)...) }, nil
	case *array.FixedSizeBinary:
		return func(dst []byte, i int) []byte { return append(dst, a.Value(i)...) }, nil
	}
	return nil, fmt.Errorf("a hash index of %v", a.DataType())
}

// orderedKey gives the bytes of values as keys of a layer index, appended to a buffer; ok is false for a NaN.
func orderedKey(a arrow.Array, n *schema.Node) (func(dst []byte, i int) (key []byte, ok bool), error) {
	if value, signed, ok := integers(a); ok && signed {
		return func(dst []byte, i int) ([]byte, bool) { return layerindex.AppendSigned(dst, int64(value(i))), true }, nil
	} else if ok {
		return func(dst []byte, i int) ([]byte, bool) { return layerindex.AppendUnsigned(dst, value(i)), true }, nil
	}
	float := func(v func(i int) float64) (func(dst []byte, i int) ([]byte, bool), error) {
		return func(dst []byte, i int) ([]byte, bool) {
			f := v(i)
			return layerindex.AppendFloat(dst, f), f == f
		}, nil
	}
	switch a := a.(type) {
	case *array.Boolean:
		return func(dst []byte, i int) ([]byte, bool) {
			return layerindex.AppendUnsigned(dst, boolKey(a.Value(i))), true
		}, nil
	case *array.Float32:
		return float(func(i int) float64 { return float64(a.Value(i)) })
	case *array.Float64:
		return float(a.Value)
	case *array.LargeString, *array.LargeBinary:
		text, err := textOf(a)
		return func(dst []byte, i int) ([]byte, bool) { return layerindex.AppendBytes(dst, text(i)), true }, err
	case *array.FixedSizeBinary:
		if n.IsDecimal() {
			return func(dst []byte, i int) ([]byte, bool) { return decimal.AppendKey(dst, decimal.From(a.Value(i))) }, nil
		}
		return func(dst []byte, i int) ([]byte, bool) { return layerindex.AppendBytes(dst, a.Value(i)), true }, nil
	}
	return nil, fmt.Errorf("a layer index of %v, of a column of type %s", a.DataType(), n.TypeName())
}

func boolKey(v bool) uint64 {
	if v {
		return 1
	}
	return 0
}
