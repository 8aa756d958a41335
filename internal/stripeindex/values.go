package stripeindex

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/hashindex"
	"github.com/shardcat/shardcat/shardfmt/layerindex"
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

// keyBytes gives the bytes of values in the keys of a hash index, appended to a buffer.
func keyBytes(a arrow.Array, basic schema.Basic) (func(dst []byte, i int) []byte, error) {
	integer := func(v func(i int) uint64) (func(dst []byte, i int) []byte, error) {
		return func(dst []byte, i int) []byte { return hashindex.AppendInteger(dst, basic, v(i)) }, nil
	}
	switch a := a.(type) {
	case *array.Boolean:
		return func(dst []byte, i int) []byte { return hashindex.AppendBool(dst, a.Value(i)) }, nil
	case *array.Int8:
		return integer(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Int16:
		return integer(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Int32:
		return integer(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Int64:
		return integer(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Uint8:
		return integer(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Uint16:
		return integer(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Uint32:
		return integer(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Uint64:
		return integer(func(i int) uint64 { return a.Value(i) })
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
	signed := func(v func(i int) int64) (func(dst []byte, i int) ([]byte, bool), error) {
		return func(dst []byte, i int) ([]byte, bool) { return layerindex.AppendSigned(dst, v(i)), true }, nil
	}
	unsigned := func(v func(i int) uint64) (func(dst []byte, i int) ([]byte, bool), error) {
		return func(dst []byte, i int) ([]byte, bool) { return layerindex.AppendUnsigned(dst, v(i)), true }, nil
	}
	float := func(v func(i int) float64) (func(dst []byte, i int) ([]byte, bool), error) {
		return func(dst []byte, i int) ([]byte, bool) {
			f := v(i)
			return layerindex.AppendFloat(dst, f), f == f
		}, nil
	}
	bytes := func(v func(i int) []byte) (func(dst []byte, i int) ([]byte, bool), error) {
		return func(dst []byte, i int) ([]byte, bool) { return layerindex.AppendBytes(dst, v(i)), true }, nil
	}
	switch a := a.(type) {
	case *array.Boolean:
		return unsigned(func(i int) uint64 { return boolKey(a.Value(i)) })
	case *array.Int8:
		return signed(func(i int) int64 { return int64(a.Value(i)) })
	case *array.Int16:
		return signed(func(i int) int64 { return int64(a.Value(i)) })
	case *array.Int32:
		return signed(func(i int) int64 { return int64(a.Value(i)) })
	case *array.Int64:
		return signed(a.Value)
	case *array.Uint8:
		return unsigned(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Uint16:
		return unsigned(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Uint32:
		return unsigned(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Uint64:
		return unsigned(a.Value)
	case *array.Float32:
		return float(func(i int) float64 { return float64(a.Value(i)) })
	case *array.Float64:
		return float(a.Value)
	case *array.LargeString:
		return bytes(func(i int) []byte { return []byte(a.Value(i)) })
	case *array.LargeBinary:
		return bytes(a.Value)
	case *array.FixedSizeBinary:
		return bytes(a.Value)
	}
	return nil, fmt.Errorf("a layer index of %v, of a column of type %s", a.DataType(), n.TypeName())
}

func boolKey(v bool) uint64 {
	if v {
		return 1
	}
	return 0
}
