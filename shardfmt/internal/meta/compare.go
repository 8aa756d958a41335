package meta

import (
	"bytes"
	"cmp"
	"math"
	"strings"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// Kind names the kind of v as the wire does, without "_value": "null", "i64", "datetime"; "" for none.
func Kind(v *metapb.AnyValue) string {
	m := v.ProtoReflect()
	f := m.WhichOneof(m.Descriptor().Oneofs().ByName("kind"))
	if f == nil {
		return ""
	}
	return strings.TrimSuffix(string(f.Name()), "_value")
}

// Equal reports that a and b have the same kind, value and annotation. Doubles compare as IEEE 754 does: NaN
// equals nothing, the zeros are equal.
func Equal(a, b *metapb.AnyValue) bool {
	if a == nil || b == nil {
		return a == b
	}
	if (a.Annotation == nil) != (b.Annotation == nil) || a.GetAnnotation() != b.GetAnnotation() {
		return false
	}
	switch x := a.Kind.(type) {
	case *metapb.AnyValue_ListValue:
		y, ok := b.Kind.(*metapb.AnyValue_ListValue)
		return ok && equalLists(x.ListValue.GetElements(), y.ListValue.GetElements())
	case *metapb.AnyValue_StructValue:
		y, ok := b.Kind.(*metapb.AnyValue_StructValue)
		return ok && equalStructs(x.StructValue.GetFields(), y.StructValue.GetFields())
	case *metapb.AnyValue_DataRef:
		y, ok := b.Kind.(*metapb.AnyValue_DataRef)
		return ok && sameRef(x.DataRef, y.DataRef)
	case *metapb.AnyValue_DecimalValue:
		y, ok := b.Kind.(*metapb.AnyValue_DecimalValue)
		return ok && bytes.Equal(x.DecimalValue, y.DecimalValue)
	}
	if Kind(a) != Kind(b) {
		return false
	}
	switch a.Kind.(type) {
	case nil, *metapb.AnyValue_NullValue:
		return true
	}
	c, ok := Compare(a, b)
	return ok && c == 0
}

func equalLists(a, b []*metapb.AnyValue) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

func equalStructs(a, b []*metapb.NameValuePair) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].GetName() != b[i].GetName() || !Equal(a[i].GetValue(), b[i].GetValue()) {
			return false
		}
	}
	return true
}

func sameRef(a, b *metapb.DataRef) bool {
	return a.GetUrl() == b.GetUrl() && a.GetRange().GetStart() == b.GetRange().GetStart() &&
		a.GetRange().GetEnd() == b.GetRange().GetEnd()
}

// Compare orders two values of one kind: negative, zero or positive as a is less than, equal to or greater
// than b. Text and bytes compare byte by byte, decimals by their number. It states false where there is no
// order: different kinds, kinds without one, and NaN.
func Compare(a, b *metapb.AnyValue) (int, bool) {
	switch x := a.GetKind().(type) {
	case *metapb.AnyValue_I64Value:
		y, ok := b.GetKind().(*metapb.AnyValue_I64Value)
		return order(ok, func() int { return cmp.Compare(x.I64Value, y.I64Value) })
	case *metapb.AnyValue_U64Value:
		y, ok := b.GetKind().(*metapb.AnyValue_U64Value)
		return order(ok, func() int { return cmp.Compare(x.U64Value, y.U64Value) })
	case *metapb.AnyValue_DoubleValue:
		y, ok := b.GetKind().(*metapb.AnyValue_DoubleValue)
		ok = ok && !math.IsNaN(x.DoubleValue) && !math.IsNaN(y.DoubleValue)
		return order(ok, func() int { return cmp.Compare(x.DoubleValue, y.DoubleValue) })
	case *metapb.AnyValue_StringValue:
		y, ok := b.GetKind().(*metapb.AnyValue_StringValue)
		return order(ok, func() int { return cmp.Compare(x.StringValue, y.StringValue) })
	case *metapb.AnyValue_BytesValue:
		y, ok := b.GetKind().(*metapb.AnyValue_BytesValue)
		return order(ok, func() int { return bytes.Compare(x.BytesValue, y.BytesValue) })
	case *metapb.AnyValue_BoolValue:
		y, ok := b.GetKind().(*metapb.AnyValue_BoolValue)
		return order(ok, func() int { return cmp.Compare(bit(x.BoolValue), bit(y.BoolValue)) })
	case *metapb.AnyValue_DatetimeValue:
		y, ok := b.GetKind().(*metapb.AnyValue_DatetimeValue)
		return order(ok, func() int { return cmp.Compare(x.DatetimeValue.GetTicks(), y.DatetimeValue.GetTicks()) })
	case *metapb.AnyValue_TimespanValue:
		y, ok := b.GetKind().(*metapb.AnyValue_TimespanValue)
		return order(ok, func() int {
			return cmp.Compare(int64(x.TimespanValue.GetTicks()), int64(y.TimespanValue.GetTicks()))
		})
	case *metapb.AnyValue_DecimalValue:
		y, ok := b.GetKind().(*metapb.AnyValue_DecimalValue)
		if !ok {
			return 0, false
		}
		return compareDecimals(x.DecimalValue, y.DecimalValue)
	}
	return 0, false
}

func order(ok bool, compare func() int) (int, bool) {
	if !ok {
		return 0, false
	}
	return compare(), true
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// compareDecimals orders two decimals by their number. NaN, and what has not 16 bytes, has no order.
func compareDecimals(a, b []byte) (int, bool) {
	if len(a) != decimal.Size || len(b) != decimal.Size {
		return 0, false
	}
	x, y := decimal.From(a), decimal.From(b)
	if x.IsNaN() || y.IsNaN() {
		return 0, false
	}
	return decimal.Compare(x, y), true
}
