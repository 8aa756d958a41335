package inspect

import (
	"encoding/json"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// extents sums up the distinct byte ranges of objects other than the root.
type extents struct {
	root   string
	ranges map[string][][2]int64
}

func newExtents(root string) *extents { return &extents{root, map[string][][2]int64{}} }

func (e *extents) add(url string, start, end int64) {
	if url != e.root {
		e.ranges[url] = append(e.ranges[url], [2]int64{start, end})
	}
}

// total is the number of bytes that at least one range covers.
func (e *extents) total() int64 {
	sum := int64(0)
	for _, ranges := range e.ranges {
		slices.SortFunc(ranges, func(a, b [2]int64) int { return int(max(-1, min(1, a[0]-b[0]))) })
		at := int64(0)
		for _, r := range ranges {
			sum += max(0, r[1]-max(at, r[0]))
			at = max(at, r[1])
		}
	}
	return sum
}

// messageJSON prints a statistics message with the names of its fields, without bytes and property bags, which are
// shown elsewhere. Values of ranges and constants are printed as values of node n.
func messageJSON(m proto.Message, n *schema.Node) json.RawMessage {
	return mustJSON(messageMap(m.ProtoReflect(), n))
}

// flags are the fields of messages that are shown also where they are false.
var flags = map[string][]string{"RangeStats": {"min_inclusive", "max_inclusive"}, "CardinalityInfo": {"is_estimate"}}

func messageMap(m protoreflect.Message, n *schema.Node) map[string]any {
	out := map[string]any{}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		name := string(f.Name())
		switch {
		case name == "standard_properties" || name == "custom_properties":
		case f.Kind() == protoreflect.BytesKind:
			out[name+"_bytes"] = len(v.Bytes())
		case f.IsList():
			list := []any{}
			for i := range v.List().Len() {
				list = append(list, single(f, v.List().Get(i), n))
			}
			out[name] = list
		default:
			out[name] = single(f, v, n)
		}
		return true
	})
	for _, flag := range flags[string(m.Descriptor().Name())] {
		out[flag] = m.Get(m.Descriptor().Fields().ByName(protoreflect.Name(flag))).Bool()
	}
	return out
}

func single(f protoreflect.FieldDescriptor, v protoreflect.Value, n *schema.Node) any {
	switch f.Kind() {
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return floatJSON(v.Float(), nil) // statistics may hold NaN and infinities, which JSON has no numbers for
	case protoreflect.MessageKind:
	default:
		return v.Interface()
	}
	if value, ok := v.Message().Interface().(*metapb.AnyValue); ok {
		return valueJSON(value, n)
	}
	return messageMap(v.Message(), n)
}

// Value is a value of statistics as rows print values of the field; n may be nil.
func Value(v *metapb.AnyValue, n *schema.Node) json.RawMessage { return valueJSON(v, n) }

// valueJSON prints a value as rows print it; n, if not nil, is the field it belongs to.
func valueJSON(v *metapb.AnyValue, n *schema.Node) json.RawMessage {
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
		return floatJSON(k.DoubleValue, n)
	case *metapb.AnyValue_DatetimeValue:
		return textJSON(literal.AppendDateTime(nil, int64(k.DatetimeValue.GetTicks())))
	case *metapb.AnyValue_TimespanValue:
		return textJSON(literal.AppendTimeSpan(nil, int64(k.TimespanValue.GetTicks())))
	case *metapb.AnyValue_DecimalValue:
		if len(k.DecimalValue) == decimal.Size {
			return mustJSON(decimal.Value(k.DecimalValue).String())
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
		return mustJSON(k.BoolValue)
	case *metapb.AnyValue_U64Value:
		return mustJSON(k.U64Value)
	case *metapb.AnyValue_I64Value:
		return mustJSON(k.I64Value)
	case *metapb.AnyValue_StringValue:
		return mustJSON(k.StringValue)
	case *metapb.AnyValue_BytesValue:
		return mustJSON(k.BytesValue)
	case *metapb.AnyValue_DecimalValue:
		return mustJSON(k.DecimalValue)
	case *metapb.AnyValue_DataRef:
		start, end := k.DataRef.GetRange().GetStart(), k.DataRef.GetRange().GetEnd()
		return mustJSON(map[string]any{"url": k.DataRef.GetUrl(), "start": start, "end": end})
	case *metapb.AnyValue_ListValue:
		list := []json.RawMessage{}
		for _, e := range k.ListValue.GetElements() {
			list = append(list, valueJSON(e, nil))
		}
		return mustJSON(list)
	case *metapb.AnyValue_StructValue:
		fields := []map[string]any{}
		for _, f := range k.StructValue.GetFields() {
			fields = append(fields, map[string]any{"name": f.GetName(), "kind": meta.Kind(f.GetValue()), "value": valueJSON(f.GetValue(), nil)})
		}
		return mustJSON(fields)
	}
	return json.RawMessage("null")
}

func floatJSON(f float64, n *schema.Node) json.RawMessage {
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

func textJSON(text []byte) json.RawMessage { return mustJSON(string(text)) }

// mustJSON marshals what can't fail: maps, lists and scalars of this package's own making.
func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
