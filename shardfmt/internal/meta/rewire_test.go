package meta

import (
	"bytes"
	"math"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// draftOf is a message on the draft wire.
func draftOf(t *testing.T, m proto.Message) []byte {
	t.Helper()
	b, err := toDraft.message(Marshal(m), m.ProtoReflect().Descriptor(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// fields are the numbers of the fields of a message.
func fieldNumbers(t *testing.T, b []byte) (out []protowire.Number) {
	t.Helper()
	for len(b) > 0 {
		num, _, n := protowire.ConsumeField(b)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		out, b = append(out, num), b[n:]
	}
	return out
}

// Messages that have the same form on both wires come back as they were, and those of another form have the book's numbers.
func TestDraftMessages(t *testing.T) {
	ref := NewRef("a/b", 10, 20)
	sketch := &metapb.HllSketchV1{HashAlgorithm: "xxh3_64", HashSeed: 7, BitsPerIndex: 7, Counters: bytes.Repeat([]byte{3}, 128)}
	filter := &metapb.SplitBlockBloomFilter{NumBlocks: 1, TargetFpp: 0.01, NumValues: 2, HashAlgorithm: "xxh3_64", Data: make([]byte, 32)}
	field := &metapb.FieldDescriptor{PositionCount: 5, Cardinality: &metapb.CardinalityInfo{IsEstimate: true, HllSketch: sketch},
		MembershipFilters: &metapb.MembershipFilters{Sbbf: filter}, ConstantValue: Text("x"),
		CustomProperties: []*metapb.NameValuePair{Pair("far", &metapb.AnyValue{Kind: &metapb.AnyValue_DataRef{DataRef: ref}})}}
	for _, m := range []proto.Message{ref, &metapb.ShardDirectory{SchemaRef: ref, FieldListRef: ref, TotalRecordCount: 7}, field,
		&metapb.StripeFieldDescriptor{Field: field}, &metapb.StripeList{Stripes: []*metapb.StripeDirectory{{PropertiesRef: ref, ShardPosition: 9}}},
		&metapb.IndexCollection{IndexDescriptors: []*metapb.IndexDescriptor{{IndexType: "x", Artifacts: []*metapb.IndexArtifact{{DataRef: ref}}}}}} {
		d := draftOf(t, m)
		b, err := toCurrent.message(d, m.ProtoReflect().Descriptor(), 0)
		back := m.ProtoReflect().New().Interface()
		if err != nil || proto.Unmarshal(b, back) != nil || !proto.Equal(m, back) {
			t.Errorf("%T: %v\nback %v, %v", m, m, back, err)
		}
	}
	if got := fieldNumbers(t, draftOf(t, ref)); len(got) != 2 || got[0] != 2 || got[1] != 3 {
		t.Errorf("DataRef has the fields %v", got)
	}
	if got := fieldNumbers(t, draftOf(t, filter)); len(got) != 5 || got[4] != 5 {
		t.Errorf("a filter has the fields %v", got)
	}
	v, _ := bytesField(draftOf(t, &metapb.CardinalityInfo{HllSketch: sketch}), 3)
	if value := new(metapb.AnyValue); proto.Unmarshal(v, value) != nil || len(value.GetStructValue().GetFields()) != 4 {
		t.Errorf("a sketch is %v", value)
	}
	if got := fieldNumbers(t, draftOf(t, &metapb.AnyValue{Kind: &metapb.AnyValue_DecimalValue{DecimalValue: make([]byte, 16)}})); got[0] != 9 {
		t.Errorf("a decimal is kind %v", got)
	}
	if isDraft(Marshal(&metapb.ShardDirectory{FieldListRef: ref})) || !isDraft(draftOf(t, &metapb.ShardDirectory{FieldListRef: ref})) {
		t.Error("the wire is not told")
	}
}

// Both numberings of the filter message that the book prints are read; one with a seed is not written.
func TestDraftFilters(t *testing.T) {
	data, name := bytes.Repeat([]byte{9}, 64), []byte("xxh3_64")
	head := protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), 2)
	head = protowire.AppendFixed64(protowire.AppendTag(head, 2, protowire.Fixed64Type), math.Float64bits(0.01)) // target_fpp: no number of blocks
	field := func(b []byte, num protowire.Number, v []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), v)
	}
	for _, b := range [][]byte{field(field(bytes.Clone(head), 4, name), 5, data), field(field(bytes.Clone(head), 4, data), 5, name)} {
		f := new(metapb.SplitBlockBloomFilter)
		out, err := toCurrent.filter(b)
		if err != nil || proto.Unmarshal(out, f) != nil || f.HashAlgorithm != "xxh3_64" || !bytes.Equal(f.Data, data) || f.NumBlocks != 2 || f.TargetFpp != 0.01 {
			t.Errorf("%v, %v", f, err)
		}
	}
	seeded := &metapb.MembershipFilters{Sbbf: &metapb.SplitBlockBloomFilter{NumBlocks: 1, HashSeed: 5, Data: make([]byte, 32)}}
	if b := draftOf(t, seeded); len(b) != 0 {
		t.Errorf("a filter with a seed is written: %x", b)
	}
}

// FuzzRewire puts whatever comes on the current wire.
func FuzzRewire(f *testing.F) {
	d := &metapb.StripeFieldDescriptor{Field: &metapb.FieldDescriptor{PositionCount: 3}, Encodings: []*metapb.DataEncoding{{}}}
	b, err := toDraft.message(Marshal(d), d.ProtoReflect().Descriptor(), 0)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		m := new(metapb.StripeFieldDescriptor)
		if out, err := toCurrent.message(b, m.ProtoReflect().Descriptor(), 0); err == nil {
			_ = unmarshal(out, m)
		}
	})
}
