package inspect

import (
	"encoding/json"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/valuejson"
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
	return valuejson.Marshal(messageMap(m.ProtoReflect(), n))
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
		return valuejson.Float(v.Float(), nil) // statistics may hold NaN and infinities, which JSON has no numbers for
	case protoreflect.MessageKind:
	default:
		return v.Interface()
	}
	if value, ok := v.Message().Interface().(*metapb.AnyValue); ok {
		return valuejson.Of(value, n)
	}
	return messageMap(v.Message(), n)
}
