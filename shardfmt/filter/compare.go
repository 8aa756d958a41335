package filter

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/kernel"
	"github.com/shardcat/shardcat/shardfmt/decimal"
)

// judge sets the bits of all values of an array of numbers that the test holds for, and reports whether it could. The bits of null
// slots mean nothing.
func (t *compareTest) judge(a arrow.Array, out []uint64) bool {
	if t.lit.null {
		return false
	}
	if ext, ok := a.(array.ExtensionArray); ok {
		a = ext.Storage()
	}
	switch a := a.(type) {
	case *array.Int8:
		judgeSigned(t, a.Int8Values(), out)
	case *array.Int16:
		judgeSigned(t, a.Int16Values(), out)
	case *array.Int32:
		judgeSigned(t, a.Int32Values(), out)
	case *array.Int64:
		judgeSigned(t, a.Int64Values(), out)
	case *array.Uint8:
		judgeUnsigned(t, a.Uint8Values(), out)
	case *array.Uint16:
		judgeUnsigned(t, a.Uint16Values(), out)
	case *array.Uint32:
		judgeUnsigned(t, a.Uint32Values(), out)
	case *array.Uint64:
		judgeUnsigned(t, a.Uint64Values(), out)
	case *array.Float32:
		judgeFloats(t, a.Float32Values(), out)
	case *array.Float64:
		judgeFloats(t, a.Float64Values(), out)
	case *array.LargeString:
		return t.judgeTexts(a.ValueOffsets(), a.Data().Buffers()[2], out)
	case *array.LargeBinary:
		return t.judgeTexts(a.ValueOffsets(), a.Data().Buffers()[2], out)
	case *array.FixedSizeBinary:
		return t.c == decimalClass && t.judgeDecimals(a, out)
	default:
		return false
	}
	return true
}

// judgeTexts is judge for byte strings, which lie in data one after the other: whether they are the literal, by = or !=.
func (t *compareTest) judgeTexts(offsets []int64, data *memory.Buffer, out []uint64) bool {
	if t.c != bytesClass || t.op != Eq && t.op != Ne || len(offsets) == 0 {
		return false
	}
	var all []byte
	if data != nil {
		all = data.Bytes()
	}
	want, start := t.lit.Bytes, offsets[0]
	setBits(out, len(offsets)-1, func(row int) bool {
		from, end := start, offsets[row+1]
		start = end
		return end-from == int64(len(want)) && string(all[from:end]) == string(want)
	})
	if t.op == Ne {
		invert(out)
	}
	return true
}

// judgeDecimals is judge for decimals.
func (t *compareTest) judgeDecimals(a *array.FixedSizeBinary, out []uint64) bool {
	if a.DataType().(*arrow.FixedSizeBinaryType).ByteWidth != decimal.Size {
		return false
	}
	with := decimal.NewThreshold(decimal.From(t.lit.Bytes))
	setBits(out, a.Len(), func(row int) bool {
		c, ordered := with.Compare(decimal.From(a.Value(row)))
		return ordered && t.op.holds(c) || !ordered && t.op == Ne
	})
	return true
}

// within is the values for which a comparison with a literal holds: those from low to high, or all others; none if low is above
// high.
type within[W int64 | uint64 | float64] struct {
	low, high W
	others    bool
}

// withinOf is the range of a comparison with a literal of a class of values from least to most. next is the value above another,
// and prior the one below.
func withinOf[W int64 | uint64 | float64](op Op, lit W, o *operand, least, most W, prior, next func(W) W) within[W] {
	all, none := within[W]{least, most, false}, within[W]{most, least, false}
	above := op == Gt || op == Ge
	switch {
	case o.beyond != 0:
		if op == Ne || op != Eq && above == (o.beyond < 0) {
			return all
		}
		return none
	case o.fraction && op == Eq: // the literal lies between lit and the next value
		return none
	case o.fraction && op == Ne:
		return all
	case op == Eq:
		return within[W]{lit, lit, false}
	case op == Ne:
		return within[W]{lit, lit, true}
	case above && (op == Gt || o.fraction):
		if lit == most {
			return none
		}
		return within[W]{next(lit), most, false}
	case above:
		return within[W]{lit, most, false}
	case op == Lt && !o.fraction:
		if lit == least {
			return none
		}
		return within[W]{least, prior(lit), false}
	}
	return within[W]{least, lit, false}
}

func judgeSigned[T int8 | int16 | int32 | int64](t *compareTest, values []T, out []uint64) {
	w := withinOf(t.op, t.lit.Int, &t.lit, math.MinInt64, math.MaxInt64, func(v int64) int64 { return v - 1 }, func(v int64) int64 { return v + 1 })
	judgeIntegers(values, w.low <= w.high, w.others, uint64(w.low), uint64(w.high), out)
}

func judgeUnsigned[T uint8 | uint16 | uint32 | uint64](t *compareTest, values []T, out []uint64) {
	w := withinOf(t.op, t.lit.Uint, &t.lit, 0, math.MaxUint64, func(v uint64) uint64 { return v - 1 }, func(v uint64) uint64 { return v + 1 })
	judgeIntegers(values, w.low <= w.high, w.others, w.low, w.high, out)
}

func judgeIntegers[T kernel.Integer](values []T, some, others bool, low, high uint64, out []uint64) {
	if !some {
		setAll(out, false)
		return
	}
	kernel.IntsWithin(out, values, low, high-low)
	if others {
		invert(out)
	}
}

// judgeFloats: a NaN, on either side, is only unequal.
func judgeFloats[T float32 | float64](t *compareTest, values []T, out []uint64) {
	if math.IsNaN(t.lit.Float) {
		setAll(out, t.op == Ne)
		return
	}
	w := withinOf(t.op, t.lit.Float, &t.lit, math.Inf(-1), math.Inf(1),
		func(v float64) float64 { return math.Nextafter(v, math.Inf(-1)) }, func(v float64) float64 { return math.Nextafter(v, math.Inf(1)) })
	kernel.FloatsWithin(out, values, w.low, w.high)
	if w.others {
		invert(out)
	}
}

func invert(out []uint64) {
	for i := range out {
		out[i] = ^out[i]
	}
}
