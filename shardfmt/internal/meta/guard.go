package meta

import (
	"sync"

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

// message checks the nesting of b, whose type has the shape of (nil: unknown, only groups are followed).
// base is the offset of b in the payload.
func (g *guard) message(b []byte, of *shape, base, depth int) error {
	if depth > maxDepth {
		return corrupt.At(int64(base), "messages nest deeper than %d levels", maxDepth)
	}
	if g.messages++; g.messages > maxMessages {
		return corrupt.At(int64(base), "more than %d messages in one frame", maxMessages)
	}
	for pos := 0; pos < len(b); {
		n, err := g.field(b, of, pos, base, depth)
		if err != nil {
			return err
		}
		pos = n
	}
	return nil
}

// field checks the field at b[pos:] and returns the position behind it.
func (g *guard) field(b []byte, of *shape, pos, base, depth int) (int, error) {
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
		if sub := of.below(num); sub != nil {
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

// shape is what a guard asks of the type of a message: the types of those of its fields that are messages, by their numbers. Descriptors answer that,
// too, but take longer for it than the rest of the walk.
type shape struct{ fields []*shape }

// shapes are those of types whose fields are known, by full name.
var shapes sync.Map

// shapeOf gives the shape of a type.
func shapeOf(md protoreflect.MessageDescriptor) *shape {
	if s, ok := shapes.Load(md.FullName()); ok {
		return s.(*shape)
	}
	seen := map[protoreflect.FullName]*shape{}
	s := newShape(md, seen)
	for name, s := range seen {
		shapes.LoadOrStore(name, s)
	}
	return s
}

// newShape makes the shapes of a type and of those below it, which seen holds.
func newShape(md protoreflect.MessageDescriptor, seen map[protoreflect.FullName]*shape) *shape {
	if s := seen[md.FullName()]; s != nil {
		return s
	}
	s := new(shape)
	seen[md.FullName()] = s
	for i := range md.Fields().Len() {
		f := md.Fields().Get(i)
		if f.Message() == nil {
			continue
		}
		if n := int(f.Number()); n >= len(s.fields) {
			s.fields = append(s.fields, make([]*shape, n+1-len(s.fields))...)
		}
		s.fields[f.Number()] = newShape(f.Message(), seen)
	}
	return s
}

// below is the shape of field num if that is a message, else nil.
func (s *shape) below(num protowire.Number) *shape {
	if s == nil || int(num) >= len(s.fields) {
		return nil
	}
	return s.fields[num]
}
