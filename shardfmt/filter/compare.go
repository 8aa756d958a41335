package filter

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// eval sets the bits of all values of an array of numbers that the test holds for, and reports whether it could. The bits of null
// slots mean nothing.
func (t *compareTest) eval(a arrow.Array, out []uint64) bool {
	if t.lit.null {
		return false
	}
	if ext, ok := a.(array.ExtensionArray); ok {
		a = ext.Storage()
	}
	switch a := a.(type) {
	case *array.Int8:
		simd.Eval(out, a.Int8Values(), t.interval())
	case *array.Int16:
		simd.Eval(out, a.Int16Values(), t.interval())
	case *array.Int32:
		simd.Eval(out, a.Int32Values(), t.interval())
	case *array.Int64:
		simd.Eval(out, a.Int64Values(), t.interval())
	case *array.Uint8:
		simd.Eval(out, a.Uint8Values(), t.interval())
	case *array.Uint16:
		simd.Eval(out, a.Uint16Values(), t.interval())
	case *array.Uint32:
		simd.Eval(out, a.Uint32Values(), t.interval())
	case *array.Uint64:
		simd.Eval(out, a.Uint64Values(), t.interval())
	case *array.Float32:
		simd.Eval(out, a.Float32Values(), t.interval())
	case *array.Float64:
		simd.Eval(out, a.Float64Values(), t.interval())
	case *array.LargeString:
		return t.evalTexts(a.ValueOffsets(), a.Data().Buffers()[2], out)
	case *array.LargeBinary:
		return t.evalTexts(a.ValueOffsets(), a.Data().Buffers()[2], out)
	case *array.FixedSizeBinary:
		return t.c == decimalClass && t.evalDecimals(a, out)
	default:
		return false
	}
	return true
}

// evalTexts is eval for byte strings, which lie in data one after the other: whether they are the literal, by = or !=.
func (t *compareTest) evalTexts(offsets []int64, data *memory.Buffer, out []uint64) bool {
	if t.c != bytesClass || t.op != opEq && t.op != opNe || len(offsets) == 0 {
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
	if t.op == opNe {
		invert(out)
	}
	return true
}

// evalDecimals is eval for decimals.
func (t *compareTest) evalDecimals(a *array.FixedSizeBinary, out []uint64) bool {
	if a.DataType().(*arrow.FixedSizeBinaryType).ByteWidth != decimal.Size {
		return false
	}
	with := decimal.NewThreshold(decimal.From(t.lit.Bytes))
	setBits(out, a.Len(), func(row int) bool {
		c, ordered := with.Compare(decimal.From(a.Value(row)))
		return ordered && t.op.holds(c) || !ordered && t.op == opNe
	})
	return true
}

// within is the values for which a comparison with a literal holds: those from low to high, or all others; none if low is above
// high.
type within[W int64 | uint64 | float64] struct {
	low, high W
	others    bool
}

// numbers are a class of values from least to most: prior is the value below another, and next the one above.
type numbers[W int64 | uint64 | float64] struct {
	least, most W
	prior, next func(W) W
}

var (
	signed   = numbers[int64]{math.MinInt64, math.MaxInt64, func(v int64) int64 { return v - 1 }, func(v int64) int64 { return v + 1 }}
	unsigned = numbers[uint64]{0, math.MaxUint64, func(v uint64) uint64 { return v - 1 }, func(v uint64) uint64 { return v + 1 }}
	floats   = numbers[float64]{math.Inf(-1), math.Inf(1),
		func(v float64) float64 { return math.Nextafter(v, math.Inf(-1)) }, func(v float64) float64 { return math.Nextafter(v, math.Inf(1)) }}
)

// within is the range of a comparison with a literal of the class, lit, which o holds.
func (n numbers[W]) within(op operator, lit W, o *operand) within[W] {
	least, most := n.least, n.most
	all, none := within[W]{least, most, false}, within[W]{most, least, false}
	above := op == opGt || op == opGe
	switch {
	case o.beyond != 0:
		if op == opNe || op != opEq && above == (o.beyond < 0) {
			return all
		}
		return none
	case o.fraction && op == opEq: // the literal lies between lit and the next value
		return none
	case o.fraction && op == opNe:
		return all
	case op == opEq:
		return within[W]{lit, lit, false}
	case op == opNe:
		return within[W]{lit, lit, true}
	case above && (op == opGt || o.fraction):
		if lit == most {
			return none
		}
		return within[W]{n.next(lit), most, false}
	case above:
		return within[W]{lit, most, false}
	case op == opLt && !o.fraction:
		if lit == least {
			return none
		}
		return within[W]{least, n.prior(lit), false}
	}
	return within[W]{least, lit, false}
}

// interval is what the comparison is true of, of a class of numbers. A NaN, on either side, is only unequal.
func (t *compareTest) interval() *simd.Interval {
	switch t.c {
	case intClass:
		w := signed.within(t.op, t.lit.Int, &t.lit)
		return &simd.Interval{Low: uint64(w.low), Span: uint64(w.high) - uint64(w.low), None: w.low > w.high, Others: w.others}
	case uintClass:
		w := unsigned.within(t.op, t.lit.Uint, &t.lit)
		return &simd.Interval{Low: w.low, Span: w.high - w.low, None: w.low > w.high, Others: w.others}
	}
	if math.IsNaN(t.lit.Float) {
		return &simd.Interval{None: true, Others: t.op == opNe}
	}
	w := floats.within(t.op, t.lit.Float, &t.lit)
	return &simd.Interval{From: w.low, To: w.high, None: w.low > w.high, Others: w.others}
}

// Interval gives the numbers that the one field which the expression reads has in every row that it is true for, none of which is null;
// ok is false if it is more, or something else, than a comparison of a top-level field of plain integers or floats with a literal.
func (b *Bound) Interval() (v *simd.Interval, ok bool) {
	leaf, ok := b.root.(leafPredicate)
	if !ok || len(leaf.field.nodes) != 1 {
		return nil, false
	}
	t, ok := leaf.test.(*compareTest)
	n := leaf.field.leaf()
	if !ok || t.lit.null || n.Ext != nil || !n.Basic.IsInteger() && n.Basic != schema.Float32 && n.Basic != schema.Float64 {
		return nil, false
	}
	return t.interval(), true
}

func invert(out []uint64) {
	for i := range out {
		out[i] = ^out[i]
	}
}
