package meta

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// maxDepth is how many messages (or groups) may lie inside one another below the outermost one: the
// reference's decoder refuses more.
const maxDepth = 100

// maxMessages is how many messages one frame may hold. An empty message takes two bytes on the wire and some
// two hundred in memory; a million of them stay below 256 MiB. Four MiB of properties hold a third of that.
const maxMessages = 1 << 20

// guard walks serialized messages before they are decoded, allocating nothing.
type guard struct{ messages int }

// message checks the nesting of b, whose type is md (nil: unknown, only groups are followed).
// base is the offset of b in the payload.
func (g *guard) message(b []byte, md protoreflect.MessageDescriptor, base, depth int) error {
	if depth > maxDepth {
		return corrupt.At(int64(base), "messages nest deeper than %d levels", maxDepth)
	}
	if g.messages++; g.messages > maxMessages {
		return corrupt.At(int64(base), "more than %d messages in one frame", maxMessages)
	}
	for pos := 0; pos < len(b); {
		n, err := g.field(b, md, pos, base, depth)
		if err != nil {
			return err
		}
		pos = n
	}
	return nil
}

// field checks the field at b[pos:] and returns the position behind it.
func (g *guard) field(b []byte, md protoreflect.MessageDescriptor, pos, base, depth int) (int, error) {
	num, typ, n := protowire.ConsumeTag(b[pos:])
	if n < 0 {
		return 0, corrupt.At(int64(base+pos), "protobuf tag: %v", protowire.ParseError(n))
	}
	start := pos + n
	switch typ {
	case protowire.StartGroupType:
		return g.group(b, num, start, base, depth+1)
	case protowire.EndGroupType:
		return 0, corrupt.At(int64(base+pos), "protobuf group ends that did not start")
	case protowire.BytesType:
		body, n := protowire.ConsumeBytes(b[start:])
		if n < 0 {
			return 0, corrupt.At(int64(base+start), "protobuf field %d: %v", num, protowire.ParseError(n))
		}
		if sub := messageType(md, num); sub != nil {
			if err := g.message(body, sub, base+start+n-len(body), depth+1); err != nil {
				return 0, err
			}
		}
		return start + n, nil
	}
	if n = protowire.ConsumeFieldValue(num, typ, b[start:]); n < 0 {
		return 0, corrupt.At(int64(base+start), "protobuf field %d: %v", num, protowire.ParseError(n))
	}
	return start + n, nil
}

// group walks an unknown group, whose content starts at b[pos:], to behind its end.
func (g *guard) group(b []byte, num protowire.Number, pos, base, depth int) (int, error) {
	if depth > maxDepth {
		return 0, corrupt.At(int64(base+pos), "groups nest deeper than %d levels", maxDepth)
	}
	for pos < len(b) {
		got, typ, n := protowire.ConsumeTag(b[pos:])
		if n > 0 && typ == protowire.EndGroupType {
			if got != num {
				return 0, corrupt.At(int64(base+pos), "protobuf group %d ends as %d", num, got)
			}
			return pos + n, nil
		}
		next, err := g.field(b, nil, pos, base, depth)
		if err != nil {
			return 0, err
		}
		pos = next
	}
	return 0, corrupt.At(int64(base+pos), "protobuf group %d does not end", num)
}

// messageType is the type of field num of md if it is a message, else nil.
func messageType(md protoreflect.MessageDescriptor, num protowire.Number) protoreflect.MessageDescriptor {
	if md == nil {
		return nil
	}
	if f := md.Fields().ByNumber(num); f != nil {
		return f.Message()
	}
	return nil
}
