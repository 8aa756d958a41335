package meta

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// usual is the descriptor of a field as writers make them, with a value as its bounds and constant, and with so many buffers.
func usual(v *metapb.AnyValue, buffers int) *metapb.StripeFieldDescriptor {
	native := new(metapb.NativeDataEncoding)
	for i := range buffers {
		native.Buffers = append(native.Buffers, &metapb.EncodedBuffer{
			Kind: metapb.BufferKind(i % 6), Buffer: NewRef("d/ä.amudai.stripe", 64, 1<<40), BlockMap: NewRef("d/ä.amudai.stripe", 32, 64),
			BlockCount: proto.Uint64(uint64(i)), BlockChecksums: true, EmbeddedPresence: i == 0, EmbeddedOffsets: i == 1,
			BufferId: proto.Uint32(7), PackedGroupIndex: proto.Uint32(0),
		})
	}
	return &metapb.StripeFieldDescriptor{
		Field: &metapb.FieldDescriptor{
			PositionCount: 300, NullCount: proto.Uint64(0), ConstantValue: v, DictionarySize: proto.Uint64(12), RawDataSize: proto.Uint64(2400),
			RangeStats: &metapb.RangeStats{MinValue: v, MinInclusive: true, MaxValue: v},
			Cardinality: &metapb.CardinalityInfo{Count: proto.Uint64(3), IsEstimate: true,
				HllSketch: &metapb.HllSketchV1{HashAlgorithm: "xxh3_64", HashSeed: 5, BitsPerIndex: 7, Counters: make([]byte, 128)}},
			MembershipFilters: &metapb.MembershipFilters{Sbbf: &metapb.SplitBlockBloomFilter{
				NumBlocks: 1, TargetFpp: 0.01, NumValues: 3, HashAlgorithm: "xxh3_64", HashSeed: 9, Data: []byte{1, 2, 3}}},
		},
		Encodings: []*metapb.DataEncoding{{Kind: &metapb.DataEncoding_Native{Native: native}}},
	}
}

// usualMessages are those that writers lay out plainly.
func usualMessages() []proto.Message {
	dir := &metapb.ShardDirectory{
		SchemaRef: SelfRef(1, 2), PropertiesRef: SelfRef(2, 3), FieldListRef: NewRef("a", 3, 4), StripeListRef: SelfRef(4, 5), UrlListRef: SelfRef(5, 6),
		TotalRecordCount: 10, DeletedRecordCount: 2, StripeCount: 3, RawDataSize: proto.Uint64(99),
	}
	stripe := &metapb.StripeDirectory{PropertiesRef: SelfRef(1, 2), FieldListRef: NewRef("b", 2, 3), IndexesRef: SelfRef(3, 4), TotalRecordCount: 4,
		DeletedRecordCount: 1, RawDataSize: proto.Uint64(5), ShardPosition: 6}
	all := []proto.Message{dir, new(metapb.ShardDirectory), new(metapb.StripeList), new(metapb.StripeFieldDescriptor),
		&metapb.StripeList{Stripes: []*metapb.StripeDirectory{stripe, {}, stripe}}}
	for i, v := range []*metapb.AnyValue{nil, {}, Bool(true), Uint(1 << 63), Int(-5), Double(1.5), Time(6), Span(-7), Text("text ä"), Text(""), Decimal(make([]byte, 16)),
		{Kind: &metapb.AnyValue_BytesValue{BytesValue: []byte("bytes")}}, {Kind: &metapb.AnyValue_BytesValue{}}} {
		all = append(all, usual(v, i))
	}
	for i, m := range []*metapb.FieldDescriptor{
		{TypeSpecific: &metapb.FieldDescriptor_StringStats{StringStats: &metapb.StringStats{MinSize: 1, MinNonEmptySize: proto.Uint64(2), MaxSize: 3, AsciiCount: proto.Uint64(0)}}},
		{TypeSpecific: &metapb.FieldDescriptor_ListStats{ListStats: &metapb.ListStats{MinLength: 1, MinNonEmptyLength: proto.Uint64(2), MaxLength: 3}}},
		{TypeSpecific: &metapb.FieldDescriptor_BooleanStats{BooleanStats: &metapb.BooleanStats{TrueCount: 1, FalseCount: 2}}},
		{TypeSpecific: &metapb.FieldDescriptor_DecimalStats{DecimalStats: &metapb.DecimalStats{ZeroCount: 1, PositiveCount: 2, NegativeCount: 3, NanCount: 4}}},
		{TypeSpecific: &metapb.FieldDescriptor_FloatingStats{FloatingStats: &metapb.FloatingStats{ZeroCount: 1, PositiveCount: 2, NegativeCount: 3, NanCount: 4,
			PositiveInfinityCount: 5, NegativeInfinityCount: 6}}},
		{TypeSpecific: &metapb.FieldDescriptor_BinaryStats{BinaryStats: &metapb.BinaryStats{MinLength: 1, MinNonEmptyLength: proto.Uint64(2), MaxLength: 3}}},
	} {
		d := usual(nil, i)
		m.PositionCount, d.Field = 9, m
		all = append(all, d)
	}
	return all
}

// samePlain decodes a payload plainly, which it reports, and compares with what package proto makes of it.
func samePlain(t *testing.T, payload []byte, typ proto.Message) (plain bool) {
	t.Helper()
	empty := typ.ProtoReflect().New().Interface()
	got, want := proto.Clone(empty), proto.Clone(empty)
	before := string(payload)
	plain = decodePlain(payload, got)
	if !plain {
		want = empty // untouched
	} else if err := unmarshalAny(payload, want); err != nil {
		t.Fatalf("%x: plain, but %v", payload, err)
	}
	if !proto.Equal(got, want) || string(Marshal(got)) != string(Marshal(want)) {
		t.Fatalf("%x:\n%v, want\n%v", payload, got, want)
	}
	clear(payload) // what was decoded lies elsewhere
	if string(Marshal(got)) != string(Marshal(want)) {
		t.Fatalf("%x: the message lies in its payload", before)
	}
	copy(payload, before)
	return plain
}

// What writers lay out is plain, and decoded as ever; so is whatever becomes of it with another byte, or cut short, if it is plain.
func TestPlain(t *testing.T) {
	for i, m := range usualMessages() {
		payload := Marshal(m)
		if !samePlain(t, payload, m) {
			t.Fatalf("message %d: %v: samePlain(t, payload, m) is false", i, m)
		}
		for at := range payload {
			samePlain(t, payload[:at:at], m)
			for _, flip := range []byte{1, 2, 8, 0x10, 0x80} {
				payload[at] ^= flip
				samePlain(t, payload, m)
				payload[at] ^= flip
			}
		}
		if samePlain(t, append(Marshal(m), 0xF8, 0x07, 1), m) {
			t.Fatalf("a field that is not known: samePlain(t, append(Marshal(m), 0xF8, 0x07, 1), m) is true")
		}
	}
}

// What is reported twice, or with more than is known here, is left to package proto.
func TestNotPlain(t *testing.T) {
	once := Marshal(usual(Int(5), 2))
	two := usual(nil, 1)
	two.Encodings = append(two.Encodings, two.Encodings[0])
	annotated := usual(&metapb.AnyValue{Kind: Int(5).Kind, Annotation: proto.String("why")}, 1)
	noted := usual(nil, 1)
	noted.Field.CustomProperties = Properties{Pair("a", Int(1))}
	external := usual(nil, 0)
	external.Encodings[0].Kind = &metapb.DataEncoding_Parquet{Parquet: new(metapb.ExternalParquetDataEncoding)}
	for name, payload := range map[string][]byte{
		"twice": append(once, once...), "two encodings": Marshal(two), "an annotation": Marshal(annotated), "properties": Marshal(noted), "Parquet": Marshal(external),
		"a list": Marshal(usual(ListOf(Int(1)), 1)), "a struct": Marshal(usual(StructOf(Pair("a", Int(1))), 1)), "null": Marshal(usual(Null(), 1)), "no UTF-8": []byte("\x12\x0b\x0a\x09\x0a\x07\x12\x05\x0a\x03a\xffb"),
	} {
		if samePlain(t, payload, new(metapb.StripeFieldDescriptor)) {
			t.Fatalf("%v: samePlain(t, payload, new(metapb.StripeFieldDescriptor)) is true", name)
		}
	}
	many := &metapb.StripeList{Stripes: make([]*metapb.StripeDirectory, mostPlain+1)}
	for i := range many.Stripes {
		many.Stripes[i] = new(metapb.StripeDirectory)
	}
	if samePlain(t, Marshal(many), many) {
		t.Fatalf("samePlain(t, Marshal(many), many) is true")
	}
	if decodePlain(nil, new(metapb.UrlList)) {
		t.Fatalf("decodePlain(nil, new(metapb.UrlList)) is true")
	}
}

// Usual descriptors take one object, one copy of the bytes, and the kinds of two bounds, which are objects of their own.
func TestPlainAllocates(t *testing.T) {
	payload := Marshal(usual(Int(5), 2))
	m := new(metapb.StripeFieldDescriptor)
	if n := testing.AllocsPerRun(10, func() { plainStripeField(payload, m) }); n > 6 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzPlain compares what is decoded plainly with what package proto makes of it.
func FuzzPlain(f *testing.F) {
	types := []proto.Message{new(metapb.StripeFieldDescriptor), new(metapb.StripeList), new(metapb.ShardDirectory)}
	for _, m := range usualMessages() {
		for i, typ := range types {
			if typ.ProtoReflect().Descriptor() == m.ProtoReflect().Descriptor() {
				f.Add(byte(i), Marshal(m))
			}
		}
	}
	for i, typ := range types {
		m := typ.ProtoReflect().New()
		example(m, 3)
		f.Add(byte(i), Marshal(m.Interface()))
	}
	f.Fuzz(func(t *testing.T, which byte, payload []byte) {
		samePlain(t, payload, types[int(which)%len(types)])
	})
}

func BenchmarkPlain(b *testing.B) {
	payload := Marshal(usual(Int(5), 2))
	for name, decode := range map[string]func([]byte, proto.Message) error{
		"plain": unmarshal, "proto": unmarshalAny,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := decode(payload, new(metapb.StripeFieldDescriptor)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
