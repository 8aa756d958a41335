package filter

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/decimal"
)

// judge writes the truth of all values of an array of numbers at once, and reports whether it could. What it writes for null
// slots means nothing.
func (t *compareTest) judge(a arrow.Array, out []truth) bool {
	if t.lit.null || t.lit.fraction || t.lit.beyond != 0 {
		return false
	}
	if ext, ok := a.(array.ExtensionArray); ok {
		a = ext.Storage()
	}
	switch a := a.(type) {
	case *array.Int8:
		compareAll(a.Int8Values(), t.lit.Int, t.op, out)
	case *array.Int16:
		compareAll(a.Int16Values(), t.lit.Int, t.op, out)
	case *array.Int32:
		compareAll(a.Int32Values(), t.lit.Int, t.op, out)
	case *array.Int64:
		compareAll(a.Int64Values(), t.lit.Int, t.op, out)
	case *array.Uint8:
		compareAll(a.Uint8Values(), t.lit.Uint, t.op, out)
	case *array.Uint16:
		compareAll(a.Uint16Values(), t.lit.Uint, t.op, out)
	case *array.Uint32:
		compareAll(a.Uint32Values(), t.lit.Uint, t.op, out)
	case *array.Uint64:
		compareAll(a.Uint64Values(), t.lit.Uint, t.op, out)
	case *array.Float32:
		compareAll(a.Float32Values(), t.lit.Float, t.op, out)
	case *array.Float64:
		compareAll(a.Float64Values(), t.lit.Float, t.op, out)
	case *array.FixedSizeBinary:
		return t.c == decimalClass && t.judgeDecimals(a, out)
	default:
		return false
	}
	return true
}

// judgeDecimals is judge for decimals.
func (t *compareTest) judgeDecimals(a *array.FixedSizeBinary, out []truth) bool {
	if a.DataType().(*arrow.FixedSizeBinaryType).ByteWidth != decimal.Size {
		return false
	}
	with := decimal.NewThreshold(decimal.From(t.lit.Bytes))
	for i := range out {
		c, ordered := with.Compare(decimal.From(a.Value(i)))
		out[i] = truthOf(ordered && t.op.holds(c) || !ordered && t.op == Ne)
	}
	return true
}

type (
	number interface {
		int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
	}
	wide interface{ int64 | uint64 | float64 }
)

// compareAll compares every value with one of the widest type of its class. What is not ordered, a NaN, is only unequal,
// as in Go.
func compareAll[T number, W wide](values []T, with W, op Op, out []truth) {
	out = out[:len(values)]
	switch op {
	case Eq:
		for i, v := range values {
			out[i] = truthOf(W(v) == with)
		}
	case Ne:
		for i, v := range values {
			out[i] = truthOf(W(v) != with)
		}
	case Lt:
		for i, v := range values {
			out[i] = truthOf(W(v) < with)
		}
	case Le:
		for i, v := range values {
			out[i] = truthOf(W(v) <= with)
		}
	case Gt:
		for i, v := range values {
			out[i] = truthOf(W(v) > with)
		}
	default:
		for i, v := range values {
			out[i] = truthOf(W(v) >= with)
		}
	}
}

func truthOf(b bool) truth {
	if b {
		return isTrue
	}
	return isFalse
}
