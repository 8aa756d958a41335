package formattest

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/shardcat/shardcat/shardfmt/internal/meta"
)

// frame notes a framed message at an offset, and decodes it into m; it gives the end of the frame.
func (a *annotator) frame(at int, name string, m proto.Message) (end int) {
	if at < 0 || at+8 > len(a.b) {
		a.fail("%s: no frame at %d", name, at)
		return at
	}
	n := int(binary.LittleEndian.Uint32(a.b[at:]))
	a.add(at, 4, "── %s: a frame; length of the payload %d", name, n)
	payload := at + 4
	if payload+n+4 > len(a.b) || meta.Checksum(a.b[payload:payload+n]) != binary.LittleEndian.Uint32(a.b[payload+n:]) {
		a.fail("%s: frame at %d", name, at)
		return at
	}
	if m != nil {
		if err := proto.Unmarshal(a.b[payload:payload+n], m); err != nil {
			a.fail("%s: %v", name, err)
		}
		a.message(payload, payload+n, m.ProtoReflect().Descriptor(), 1)
	}
	a.add(payload+n, 4, "checksum of the payload")
	return payload + n + 4
}

// message notes the fields of a protobuf message in [at, end).
func (a *annotator) message(at, end int, d protoreflect.MessageDescriptor, depth int) {
	indent := strings.Repeat("  ", depth)
	for at < end && a.err == nil {
		number, wire, n := protowire.ConsumeTag(a.b[at:end])
		f := d.Fields().ByNumber(number)
		if n < 0 || f == nil {
			a.fail("message %s: no field at %d", d.Name(), at)
			return
		}
		head := fmt.Sprintf("%s%d %s", indent, number, f.Name())
		switch wire {
		case protowire.VarintType:
			v, m := protowire.ConsumeVarint(a.b[at+n : end])
			a.add(at, n+m, "%s = %s", head, varintText(f, v))
			at += n + m
		case protowire.Fixed64Type:
			a.add(at, n+8, "%s = %s", head, fixedText(f, binary.LittleEndian.Uint64(a.b[at+n:])))
			at += n + 8
		case protowire.Fixed32Type:
			a.add(at, n+4, "%s = %d", head, binary.LittleEndian.Uint32(a.b[at+n:]))
			at += n + 4
		default:
			at = a.lengthDelimited(at, n, end, field{f, head, depth})
		}
	}
}

// field is a field of a message, what its line begins with, and how deep the message is.
type field struct {
	protoreflect.FieldDescriptor
	head  string
	depth int
}

// lengthDelimited notes a field of bytes, text, packed numbers or a message, and gives its end.
func (a *annotator) lengthDelimited(at, tag, end int, f field) int {
	size, n := protowire.ConsumeVarint(a.b[at+tag : end])
	start := at + tag + n
	stop := start + int(size)
	if n < 0 || stop > end {
		a.fail("%s at %d: too long", f.Name(), at)
		return end
	}
	switch {
	case f.Kind() == protoreflect.MessageKind:
		a.add(at, tag+n, "%s: %s of %d bytes", f.head, f.Message().Name(), size)
		a.message(start, stop, f.Message(), f.depth+1)
	case f.Kind() == protoreflect.StringKind:
		a.add(at, stop-at, "%s = %q", f.head, a.b[start:stop])
	case f.Kind() == protoreflect.BytesKind:
		a.add(at, stop-at, "%s: %d bytes", f.head, size)
	default:
		a.add(at, tag+n, "%s: %d numbers, packed", f.head, size/8)
		for p := start; p+8 <= stop; p += 8 {
			a.add(p, 8, "%s  %d", strings.Repeat("  ", f.depth), binary.LittleEndian.Uint64(a.b[p:]))
		}
	}
	return stop
}

func varintText(f protoreflect.FieldDescriptor, v uint64) string {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return fmt.Sprint(v != 0)
	case protoreflect.EnumKind:
		return fmt.Sprintf("%d %s", v, f.Enum().Values().ByNumber(protoreflect.EnumNumber(v)).Name())
	case protoreflect.Int64Kind:
		return fmt.Sprint(int64(v))
	}
	return fmt.Sprint(v)
}

func fixedText(f protoreflect.FieldDescriptor, v uint64) string {
	if f.Kind() == protoreflect.DoubleKind {
		return fmt.Sprint(math.Float64frombits(v))
	}
	return fmt.Sprint(v)
}
