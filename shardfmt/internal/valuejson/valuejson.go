// Package valuejson prints values of metadata as JSON.
package valuejson

import (
	"encoding/json"
	"math"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Of prints a value of metadata as rows print it; n, if not nil, is the field it belongs to.
func Of(v *metapb.AnyValue, n *schema.Node) json.RawMessage {
	switch k := v.GetKind().(type) {
	case nil, *metapb.AnyValue_NullValue:
		return json.RawMessage("null")
	case *metapb.AnyValue_U64Value:
		if n != nil && n.Basic == schema.DateTime {
			return textJSON(literal.AppendDateTime(nil, int64(k.U64Value)))
		}
	case *metapb.AnyValue_I64Value:
		if n != nil && n.IsTimeSpan() {
			return textJSON(literal.AppendTimeSpan(nil, k.I64Value))
		}
	case *metapb.AnyValue_DoubleValue:
		return Float(k.DoubleValue, n)
	case *metapb.AnyValue_DatetimeValue:
		return textJSON(literal.AppendDateTime(nil, int64(k.DatetimeValue.GetTicks())))
	case *metapb.AnyValue_TimespanValue:
		return textJSON(literal.AppendTimeSpan(nil, int64(k.TimespanValue.GetTicks())))
	case *metapb.AnyValue_DecimalValue:
		if len(k.DecimalValue) == decimal.Size {
			return Marshal(decimal.Value(k.DecimalValue).String())
		}
	case *metapb.AnyValue_BytesValue:
		if n != nil && n.Basic == schema.Guid && len(k.BytesValue) == 16 {
			return textJSON(literal.AppendGuid(nil, k.BytesValue))
		}
	}
	return plainValue(v)
}

// plainValue prints the kinds whose form no field changes.
func plainValue(v *metapb.AnyValue) json.RawMessage {
	switch k := v.GetKind().(type) {
	case *metapb.AnyValue_BoolValue:
		return Marshal(k.BoolValue)
	case *metapb.AnyValue_U64Value:
		return Marshal(k.U64Value)
	case *metapb.AnyValue_I64Value:
		return Marshal(k.I64Value)
	case *metapb.AnyValue_StringValue:
		return Marshal(k.StringValue)
	case *metapb.AnyValue_BytesValue:
		return Marshal(k.BytesValue)
	case *metapb.AnyValue_DecimalValue:
		return Marshal(k.DecimalValue)
	case *metapb.AnyValue_DataRef:
		start, end := k.DataRef.GetRange().GetStart(), k.DataRef.GetRange().GetEnd()
		return Marshal(map[string]any{"url": k.DataRef.GetUrl(), "start": start, "end": end})
	case *metapb.AnyValue_ListValue:
		list := []json.RawMessage{}
		for _, e := range k.ListValue.GetElements() {
			list = append(list, Of(e, nil))
		}
		return Marshal(list)
	case *metapb.AnyValue_StructValue:
		fields := []map[string]any{}
		for _, f := range k.StructValue.GetFields() {
			fields = append(fields, map[string]any{"name": f.GetName(), "kind": meta.Kind(f.GetValue()), "value": Of(f.GetValue(), nil)})
		}
		return Marshal(fields)
	}
	return json.RawMessage("null")
}

// Float prints a number as rows print it, as text where JSON has no number for it.
func Float(f float64, n *schema.Node) json.RawMessage {
	bits := 64
	if n != nil && n.Basic == schema.Float32 && float64(float32(f)) == f { // any other was not stored by a writer of floats
		bits = 32
	}
	text := literal.AppendFloat(nil, f, bits)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return textJSON(text)
	}
	return text
}

func textJSON(text []byte) json.RawMessage { return Marshal(string(text)) }

// Marshal marshals what can't fail: maps, lists and scalars that the program made.
func Marshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
