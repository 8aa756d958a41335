package stats

import (
	"bytes"
	"cmp"
	"fmt"
	"math"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// Contradiction names what a descriptor states of one field and denies in the same breath: its count of nulls, its constant value and its bounds. It
// is "" where they agree. Nothing is to be concluded from a descriptor that contradicts itself: which of the statements is wrong is not known.
func Contradiction(d *metapb.FieldDescriptor) string {
	if d == nil || d.PositionCount == 0 {
		return ""
	}
	value := d.ConstantValue
	if value.GetKind() == nil {
		value = nil
	}
	least, greatest := bound(d.RangeStats.GetMinValue()), bound(d.RangeStats.GetMaxValue())
	allNull := d.NullCount != nil && d.GetNullCount() == d.PositionCount
	switch {
	case d.GetNullCount() > d.PositionCount:
		return fmt.Sprintf("%d of %d positions are stated to be null", d.GetNullCount(), d.PositionCount)
	case isNullValue(value) && d.NullCount != nil && !allNull:
		return fmt.Sprintf("the constant is null, but %d of %d positions are stated to be null", d.GetNullCount(), d.PositionCount)
	case isNullValue(value) && (least != nil || greatest != nil):
		return "the constant is null, but there are bounds of values"
	case value != nil && !isNullValue(value) && d.GetNullCount() > 0:
		return fmt.Sprintf("the constant is a value, but %d of %d positions are stated to be null", d.GetNullCount(), d.PositionCount)
	case allNull && (least != nil || greatest != nil):
		return "all positions are stated to be null, but there are bounds of values"
	case allNull && d.GetBooleanStats().GetTrueCount()+d.GetBooleanStats().GetFalseCount() > 0:
		return "all positions are stated to be null, but booleans are counted"
	case greater(least, greatest):
		return "the lower bound is above the upper bound"
	case greater(least, value), greater(value, greatest):
		return "the constant is outside of the bounds"
	}
	return ""
}

func isNullValue(v *metapb.AnyValue) bool {
	_, is := v.GetKind().(*metapb.AnyValue_NullValue)
	return is
}

// bound is a value that bounds others, nil for none.
func bound(v *metapb.AnyValue) *metapb.AnyValue {
	if v.GetKind() == nil || isNullValue(v) {
		return nil
	}
	return v
}

// greater reports whether a is known to be greater than b. Values of different kinds, NaN and nil are not comparable.
func greater(a, b *metapb.AnyValue) bool {
	if a == nil || b == nil {
		return false
	}
	switch x := a.Kind.(type) {
	case *metapb.AnyValue_I64Value:
		y, ok := b.Kind.(*metapb.AnyValue_I64Value)
		return ok && x.I64Value > y.I64Value
	case *metapb.AnyValue_U64Value:
		y, ok := b.Kind.(*metapb.AnyValue_U64Value)
		return ok && x.U64Value > y.U64Value
	case *metapb.AnyValue_DatetimeValue:
		y, ok := b.Kind.(*metapb.AnyValue_DatetimeValue)
		return ok && x.DatetimeValue.GetTicks() > y.DatetimeValue.GetTicks()
	case *metapb.AnyValue_TimespanValue:
		y, ok := b.Kind.(*metapb.AnyValue_TimespanValue)
		return ok && int64(x.TimespanValue.GetTicks()) > int64(y.TimespanValue.GetTicks())
	case *metapb.AnyValue_DoubleValue:
		y, ok := b.Kind.(*metapb.AnyValue_DoubleValue)
		return ok && !math.IsNaN(x.DoubleValue) && !math.IsNaN(y.DoubleValue) && cmp.Compare(x.DoubleValue, y.DoubleValue) > 0
	case *metapb.AnyValue_StringValue, *metapb.AnyValue_BytesValue:
		x1, ok1 := textOf(a)
		y1, ok2 := textOf(b)
		return ok1 && ok2 && bytes.Compare(x1, y1) > 0
	}
	return false // decimals have many forms of one number
}

// textOf is a byte string of either kind.
func textOf(v *metapb.AnyValue) ([]byte, bool) {
	switch x := v.Kind.(type) {
	case *metapb.AnyValue_StringValue:
		return []byte(x.StringValue), true
	case *metapb.AnyValue_BytesValue:
		return x.BytesValue, true
	}
	return nil, false
}
