package meta

import (
	"math"
	"unicode/utf8"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// maxValueDepth is how deep lists and structs may nest in a value that is written. A level of a struct takes
// three messages of the MaxDepth that readers allow.
const maxValueDepth = 30

// Null is the null value.
func Null() *metapb.AnyValue {
	return &metapb.AnyValue{Kind: &metapb.AnyValue_NullValue{NullValue: &metapb.UnitValue{}}}
}

// Bool is a boolean value.
func Bool(v bool) *metapb.AnyValue {
	return &metapb.AnyValue{Kind: &metapb.AnyValue_BoolValue{BoolValue: v}}
}

// Int is a signed integer value.
func Int(v int64) *metapb.AnyValue {
	return &metapb.AnyValue{Kind: &metapb.AnyValue_I64Value{I64Value: v}}
}

// Uint is an unsigned integer value.
func Uint(v uint64) *metapb.AnyValue {
	return &metapb.AnyValue{Kind: &metapb.AnyValue_U64Value{U64Value: v}}
}

// Double is a floating-point value.
func Double(v float64) *metapb.AnyValue {
	return &metapb.AnyValue{Kind: &metapb.AnyValue_DoubleValue{DoubleValue: v}}
}

// Text is a string value.
func Text(v string) *metapb.AnyValue {
	return &metapb.AnyValue{Kind: &metapb.AnyValue_StringValue{StringValue: v}}
}

// Blob is a value of bytes.
func Blob(v []byte) *metapb.AnyValue {
	return &metapb.AnyValue{Kind: &metapb.AnyValue_BytesValue{BytesValue: v}}
}

// Decimal is a decimal value, its 16 bytes.
func Decimal(v []byte) *metapb.AnyValue {
	return &metapb.AnyValue{Kind: &metapb.AnyValue_DecimalValue{DecimalValue: v}}
}

// Time is a point in time in ticks of 100 ns since the start of year 1.
func Time(ticks uint64) *metapb.AnyValue {
	return &metapb.AnyValue{Kind: &metapb.AnyValue_DatetimeValue{DatetimeValue: &metapb.DateTimeUtc{Ticks: ticks}}}
}

// Span is a time span in ticks of 100 ns, on the wire in two's complement.
func Span(ticks int64) *metapb.AnyValue {
	return &metapb.AnyValue{Kind: &metapb.AnyValue_TimespanValue{TimespanValue: &metapb.TimeSpan{Ticks: uint64(ticks)}}}
}

// ListOf is a list of values.
func ListOf(v ...*metapb.AnyValue) *metapb.AnyValue {
	return &metapb.AnyValue{Kind: &metapb.AnyValue_ListValue{ListValue: &metapb.ListValue{Elements: v}}}
}

// StructOf is a struct of named values.
func StructOf(fields ...*metapb.NameValuePair) *metapb.AnyValue {
	return &metapb.AnyValue{Kind: &metapb.AnyValue_StructValue{StructValue: &metapb.StructValue{Fields: fields}}}
}

// Pair is a name with its value.
func Pair(name string, v *metapb.AnyValue) *metapb.NameValuePair {
	return &metapb.NameValuePair{Name: name, Value: v}
}

// Int64Of is v as a signed integer, if it is one, or a number, time or span that fits one.
func Int64Of(v *metapb.AnyValue) (int64, bool) {
	if x, ok := v.GetKind().(*metapb.AnyValue_I64Value); ok {
		return x.I64Value, true
	}
	if x, ok := v.GetKind().(*metapb.AnyValue_TimespanValue); ok {
		return int64(x.TimespanValue.GetTicks()), true
	}
	u, ok := Uint64Of(v)
	return int64(u), ok && u <= math.MaxInt64
}

// Uint64Of is v as an unsigned integer, if it is one, or a number, time or span that is none below zero.
func Uint64Of(v *metapb.AnyValue) (uint64, bool) {
	switch x := v.GetKind().(type) {
	case *metapb.AnyValue_U64Value:
		return x.U64Value, true
	case *metapb.AnyValue_I64Value:
		return uint64(x.I64Value), x.I64Value >= 0
	case *metapb.AnyValue_DatetimeValue:
		return x.DatetimeValue.GetTicks(), true
	case *metapb.AnyValue_TimespanValue:
		return x.TimespanValue.GetTicks(), int64(x.TimespanValue.GetTicks()) >= 0
	}
	return 0, false
}

// TextOf is v as a string, if it is one.
func TextOf(v *metapb.AnyValue) (string, bool) {
	x, ok := v.GetKind().(*metapb.AnyValue_StringValue)
	if !ok {
		return "", false
	}
	return x.StringValue, true
}

// BytesOf is v as bytes, if it is bytes or text.
func BytesOf(v *metapb.AnyValue) ([]byte, bool) {
	switch x := v.GetKind().(type) {
	case *metapb.AnyValue_BytesValue:
		return x.BytesValue, true
	case *metapb.AnyValue_StringValue:
		return []byte(x.StringValue), true
	}
	return nil, false
}

// CheckValue checks what a writer must hold to: nesting up to MaxValueDepth, UTF-8, decimals of 16 bytes.
func CheckValue(v *metapb.AnyValue) error { return checkValue(v, 0) }

func checkValue(v *metapb.AnyValue, depth int) error {
	if depth > maxValueDepth {
		return corrupt.At(-1, "a value nests deeper than %d levels", maxValueDepth)
	}
	if !utf8.ValidString(v.GetAnnotation()) {
		return corrupt.At(-1, "annotation %q is not UTF-8", v.GetAnnotation())
	}
	switch x := v.GetKind().(type) {
	case *metapb.AnyValue_StringValue:
		if !utf8.ValidString(x.StringValue) {
			return corrupt.At(-1, "value %q is not UTF-8", x.StringValue)
		}
	case *metapb.AnyValue_DecimalValue:
		if len(x.DecimalValue) != 16 {
			return corrupt.At(-1, "a decimal value of %d bytes", len(x.DecimalValue))
		}
	case *metapb.AnyValue_ListValue:
		for _, e := range x.ListValue.GetElements() {
			if err := checkValue(e, depth+1); err != nil {
				return err
			}
		}
	case *metapb.AnyValue_StructValue:
		for _, f := range x.StructValue.GetFields() {
			if err := checkPair(f, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkPair(p *metapb.NameValuePair, depth int) error {
	if !utf8.ValidString(p.GetName()) {
		return corrupt.At(-1, "name %q is not UTF-8", p.GetName())
	}
	return checkValue(p.GetValue(), depth)
}
