package meta

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// HasUnknown reports whether a message, or one inside it, has fields that this version does not know. Whoever rewrites such metadata
// would lose them; a verbatim copy keeps them.
func HasUnknown(m proto.Message) bool { return hasUnknown(m.ProtoReflect()) }

func hasUnknown(m protoreflect.Message) bool {
	unknown := len(m.GetUnknown()) > 0
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil || f.IsMap():
		case f.IsList():
			for i := range v.List().Len() {
				unknown = unknown || hasUnknown(v.List().Get(i).Message())
			}
		default:
			unknown = unknown || hasUnknown(v.Message())
		}
		return !unknown
	})
	return unknown
}
