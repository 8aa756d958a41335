package meta

import (
	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Marshal serializes m, the same bytes every time: its fields in ascending order, then the member of a oneof,
// then fields that m carries without knowing them. Readers take any order. It panics on a string that is no UTF-8: the caller checks its names.
func Marshal(m proto.Message) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic("meta: " + err.Error())
	}
	return b
}

// unmarshal decodes the payload of a frame into m, which is new. Nesting (MaxDepth) and number (MaxMessages) of messages
// are checked first. Fields that m does not know are kept with it.
func unmarshal(payload []byte, m proto.Message) error {
	if decodePlain(payload, m) {
		return nil
	}
	return unmarshalAny(payload, m)
}

// unmarshalAny is unmarshal of what need not be plain.
func unmarshalAny(payload []byte, m proto.Message) error {
	md := m.ProtoReflect().Descriptor()
	if err := new(guard).message(payload, shapeOf(md), 0, 0); err != nil {
		return err
	}
	// The limit counts the outermost message too.
	if err := (proto.UnmarshalOptions{RecursionLimit: maxDepth + 1}).Unmarshal(payload, m); err != nil {
		return corrupt.At(0, "%s: %v", md.Name(), err)
	}
	return nil
}
