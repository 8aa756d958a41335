package layer

import (
	"fmt"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// arrowType is what values of a type are in Arrow. Integers of 128 bits are text: no Arrow integer holds them.
func (t Type) arrowType() arrow.DataType {
	switch t.Kind {
	case Bool:
		return arrow.FixedWidthTypes.Boolean
	case I8:
		return arrow.PrimitiveTypes.Int8
	case I16:
		return arrow.PrimitiveTypes.Int16
	case I32:
		return arrow.PrimitiveTypes.Int32
	case I64:
		return arrow.PrimitiveTypes.Int64
	case U8:
		return arrow.PrimitiveTypes.Uint8
	case U16:
		return arrow.PrimitiveTypes.Uint16
	case U32:
		return arrow.PrimitiveTypes.Uint32
	case U64:
		return arrow.PrimitiveTypes.Uint64
	case F32:
		return arrow.PrimitiveTypes.Float32
	case F64:
		return arrow.PrimitiveTypes.Float64
	case Bytes, Opaque:
		return arrow.BinaryTypes.Binary
	case Unit:
		return arrow.Null
	case List:
		return t.listArrow()
	}
	return arrow.BinaryTypes.String
}

// part is one Arrow column of a file: the keys or the auxiliary values of a layer.
type part struct {
	column int
	aux    bool
	t      Type
}

// parts are the Arrow columns of a file: k0, a0, k1, a1 and so on, without those of ().
func parts(types []Pair) (out []part, s *arrow.Schema) {
	var fields []arrow.Field
	add := func(p part, name string) {
		if p.t.Kind == Unit {
			return
		}
		out = append(out, p)
		fields = append(fields, arrow.Field{Name: name, Type: p.t.arrowType(), Nullable: p.t.Optional})
	}
	for i, p := range types {
		add(part{i, false, p.Key}, fmt.Sprintf("k%d", i))
		add(part{i, true, p.Aux}, fmt.Sprintf("a%d", i))
	}
	return out, arrow.NewSchema(fields, nil)
}

// appendTo appends a value to a builder of its Arrow type.
func (t Type) appendTo(b array.Builder, v Value) error {
	if v.None {
		b.AppendNull()
		return nil
	}
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(v.Int != 0)
	case *array.Int8Builder:
		b.Append(int8(v.Int))
	case *array.Int16Builder:
		b.Append(int16(v.Int))
	case *array.Int32Builder:
		b.Append(int32(v.Int))
	case *array.Int64Builder:
		b.Append(v.Int)
	case *array.Uint8Builder:
		b.Append(uint8(v.Uint))
	case *array.Uint16Builder:
		b.Append(uint16(v.Uint))
	case *array.Uint32Builder:
		b.Append(uint32(v.Uint))
	case *array.Uint64Builder:
		b.Append(v.Uint)
	case *array.Float32Builder:
		b.Append(float32(v.Float))
	case *array.Float64Builder:
		b.Append(v.Float)
	case *array.BinaryBuilder:
		b.Append(v.Bytes)
	case *array.StringBuilder:
		b.Append(t.text128(v))
	case *array.ListBuilder:
		return t.appendList(b, v)
	}
	return nil
}

// text128 is the text of a value that Arrow holds as text.
func (t Type) text128(v Value) string {
	switch t.Kind {
	case Char:
		return string(rune(v.Uint))
	case I128, U128:
		high := new(big.Int).SetInt64(v.Int)
		if t.Kind == U128 {
			high.SetUint64(uint64(v.Int))
		}
		return high.Lsh(high, 64).Add(high, new(big.Int).SetUint64(v.Uint)).String()
	}
	return string(v.Bytes)
}

// parse128 is the way back.
func (t Type) parse128(s string) (v Value, err error) {
	n, ok := new(big.Int).SetString(s, 10)
	limit := new(big.Int).Lsh(big.NewInt(1), 127)
	low := new(big.Int).Neg(limit)
	if t.Kind == U128 {
		low.SetInt64(0)
		limit.Lsh(limit, 1)
	}
	if !ok || n.Cmp(low) < 0 || n.Cmp(limit) >= 0 {
		return v, fmt.Errorf("%.60q is not a valid %s", s, t)
	}
	word := new(big.Int).SetUint64(1<<64 - 1)
	v.Uint = new(big.Int).And(n, word).Uint64()
	high := new(big.Int).Rsh(n, 64)
	v.Int = int64(new(big.Int).And(high, word).Uint64())
	return v, nil
}

// describe is a value in an error.
func (t Type) describe(v Value) string {
	switch t.arrowType().ID() {
	case arrow.STRING, arrow.BINARY:
		return fmt.Sprintf("%.60q", t.text128(v))
	case arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64:
		return fmt.Sprint(v.Uint)
	case arrow.FLOAT32, arrow.FLOAT64:
		return fmt.Sprint(v.Float)
	}
	return fmt.Sprint(v.Int)
}
