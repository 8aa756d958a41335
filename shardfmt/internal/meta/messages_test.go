package meta

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// messageTypes are all messages of the wire.
func messageTypes() []protoreflect.MessageType {
	var all []protoreflect.MessageType
	messages := metapb.File_amudai_proto.Messages()
	for i := range messages.Len() {
		all = append(all, messageTypeOf(messages.Get(i)))
	}
	return all
}

func messageTypeOf(d protoreflect.MessageDescriptor) protoreflect.MessageType {
	for _, m := range []proto.Message{
		&metapb.UInt64Range{}, &metapb.UInt32Range{}, &metapb.DataRef{}, &metapb.DataRefArray{}, &metapb.BytesList{},
		&metapb.UnitValue{}, &metapb.DateTimeUtc{}, &metapb.TimeSpan{}, &metapb.ListValue{}, &metapb.StructValue{},
		&metapb.NameValuePair{}, &metapb.AnyValue{}, &metapb.ShardDirectory{}, &metapb.ShardProperties{}, &metapb.UrlList{},
		&metapb.StripeList{}, &metapb.StripeDirectory{}, &metapb.StripeProperties{}, &metapb.FieldDescriptor{},
		&metapb.RangeStats{}, &metapb.StringStats{}, &metapb.BooleanStats{}, &metapb.ListStats{}, &metapb.BinaryStats{},
		&metapb.DecimalStats{}, &metapb.FloatingStats{}, &metapb.CardinalityInfo{}, &metapb.HllSketchV1{},
		&metapb.MembershipFilters{}, &metapb.SplitBlockBloomFilter{}, &metapb.StripeFieldDescriptor{},
		&metapb.DataEncoding{}, &metapb.NativeDataEncoding{}, &metapb.EncodedBuffer{},
		&metapb.ExternalParquetDataEncoding{}, &metapb.ParquetFileColumnRef{}, &metapb.ParquetColumnChunkRef{},
		&metapb.IndexCollection{}, &metapb.IndexDescriptor{}, &metapb.IndexArtifact{}, &metapb.IndexedField{},
	} {
		if m.ProtoReflect().Descriptor() == d {
			return m.ProtoReflect().Type()
		}
	}
	panic(d.FullName())
}

// example sets every field of m to a value made of its number, messages down to two levels.
func example(m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if o := fd.ContainingOneof(); o != nil && !o.IsSynthetic() && m.WhichOneof(o) != nil {
			continue
		}
		n := uint64(fd.Number())
		var v protoreflect.Value
		switch fd.Kind() {
		case protoreflect.MessageKind:
			if depth > 0 && fd.IsList() {
				example(m.Mutable(fd).List().AppendMutable().Message(), depth-1)
			} else if depth > 0 {
				example(m.Mutable(fd).Message(), depth-1)
			}
			continue
		case protoreflect.Fixed64Kind, protoreflect.Uint64Kind:
			v = protoreflect.ValueOfUint64(n)
		case protoreflect.Fixed32Kind:
			v = protoreflect.ValueOfUint32(uint32(n))
		case protoreflect.Int64Kind:
			v = protoreflect.ValueOfInt64(-int64(n))
		case protoreflect.DoubleKind:
			v = protoreflect.ValueOfFloat64(float64(n))
		case protoreflect.BoolKind:
			v = protoreflect.ValueOfBool(true)
		case protoreflect.StringKind:
			v = protoreflect.ValueOfString(fmt.Sprint("s", n))
		case protoreflect.BytesKind:
			v = protoreflect.ValueOfBytes([]byte{byte(n)})
		case protoreflect.EnumKind:
			v = protoreflect.ValueOfEnum(1)
		}
		if fd.IsList() {
			m.Mutable(fd).List().Append(v)
		} else {
			m.Set(fd, v)
		}
	}
}

// annotate prints a message field by field: key bytes, length, value, name.
func annotate(b *strings.Builder, payload []byte, d protoreflect.MessageDescriptor, indent string) {
	for len(payload) > 0 {
		num, typ, n := protowire.ConsumeTag(payload)
		fd := d.Fields().ByNumber(num)
		size := protowire.ConsumeFieldValue(num, typ, payload[n:])
		value := payload[n : n+size]
		if fd.Kind() == protoreflect.MessageKind {
			body, _ := protowire.ConsumeBytes(value)
			fmt.Fprintf(b, "%s%X %X  %s:\n", indent, payload[:n], value[:len(value)-len(body)], fd.Name())
			annotate(b, body, fd.Message(), indent+"    ")
		} else {
			fmt.Fprintf(b, "%s%X %X  %s\n", indent, payload[:n], value, fd.Name())
		}
		payload = payload[n+size:]
	}
}

// TestGoldenMessages compares one example of every message with its bytes in testdata/messages.
func TestGoldenMessages(t *testing.T) {
	types := messageTypes()
	if got := types; len(got) != 41 {
		t.Fatalf("%d elements, want %d: %v", len(got), 41, got)
	}
	for _, typ := range types {
		m := typ.New()
		example(m, 2)
		payload := Marshal(m.Interface())
		var b strings.Builder
		annotate(&b, payload, m.Descriptor(), "")
		fmt.Fprintf(&b, "frame: %X\n", AppendFrame(nil, payload))
		path := filepath.Join("testdata", "messages", string(m.Descriptor().Name())+".txt")
		if *rewrite {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if want, got := string(want), b.String(); !reflect.DeepEqual(got, want) {
			t.Fatalf("%v: got %v, want %v", path, got, want)
		}

		got := typ.New().Interface()
		if err := unmarshal(payload, got); err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(m.Interface(), got) {
			t.Fatalf("proto.Equal(m.Interface(), got) is false")
		}
	}
}

// FuzzUnmarshal decodes any bytes as each of the messages that stand in frames.
func FuzzUnmarshal(f *testing.F) {
	for i, typ := range messageTypes() {
		m := typ.New()
		example(m, 3)
		f.Add(byte(i), Marshal(m.Interface()))
	}
	f.Add(byte(0), nested(60))
	types := messageTypes()
	f.Fuzz(func(t *testing.T, which byte, b []byte) {
		m := types[int(which)%len(types)].New().Interface()
		if err := unmarshal(b, m); err != nil {
			return
		}
		again := m.ProtoReflect().New().Interface()
		if err := unmarshal(Marshal(m), again); err != nil {
			t.Fatal(err)
		}
		if want, got := Marshal(m), Marshal(again); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func FuzzRefArray(f *testing.F) {
	f.Add(Marshal(RefsOf([]*metapb.DataRef{nil, SelfRef(1, 2), NewRef("a", 3, 4)})))
	f.Add(Marshal(RefsOf(make([]*metapb.DataRef, 300))))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := ParseRefArray(b)
		if err != nil {
			return
		}
		var m metapb.DataRefArray
		if err := unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		if want, got := len(m.Start), a.Len(); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		a.oneURL()
		for i := range a.Len() {
			url, start, end, err := a.At(i)
			if m.Start[i] > m.End[i] || m.End[i] > 1<<63-1 {
				if err == nil {
					t.Fatalf("no error")
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if want, got := m.Url[i], url; !reflect.DeepEqual(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
			if want, got := ([2]uint64{m.Start[i], m.End[i]}), ([2]uint64{uint64(start), uint64(end)}); !reflect.DeepEqual(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
		}
	})
}

// FuzzRoot opens any bytes as a root and requests everything.
func FuzzRoot(f *testing.F) {
	f.Add(smallest(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}
		readAll(t, b)
	})
}
