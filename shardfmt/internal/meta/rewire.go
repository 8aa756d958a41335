package meta

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// The draft wire is what the format's book prints; the wire is what its reference implementation writes. They differ in
// a few messages:
//
//	                       draft                                        wire
//	DataRef                url 2, range 3                               url 1, range 2
//	AnyValue               decimals are bytes_value                     decimal_value 10
//	CardinalityInfo        hll_sketch 3: AnyValue, a struct             hll_sketch 3: HllSketchV1
//	SplitBlockBloomFilter  no seed; 4 and 5 are algorithm and data,     4 algorithm, 5 seed, 6 data
//	                       or data and algorithm
//	IndexDescriptor        artifacts 4: DataRef                         artifacts 4: IndexArtifact
//	Schema                 no parents, no lookup tables                 see package schema
//
// Everything else is the same bytes, and so are all buffers.
type wire bool

const (
	toCurrent wire = false
	toDraft   wire = true
)

// The field numbers in question.
const (
	refURL, refRange           = 1, 2
	draftURL, draftRange       = 2, 3
	cardinalitySketch          = 3
	membershipFilter           = 1
	filterBlocks               = 1
	filterAlgorithm            = 4
	filterSeed, filterData     = 5, 6
	draftFilterData            = 5
	descriptorArtifacts        = 4
	artifactRef                = 3
	anyBytes, anyDecimal       = 9, 10
	directoryFieldList         = 3
	filterBlockBytes           = 32
	sketchAlgorithm            = "hash_algorithm"
	sketchSeed                 = "hash_seed"
	sketchBits, sketchCounters = "bits_per_index", "counters"
)

// isDraft recognises the directory of a draft shard by the reference to its field list, which every directory has.
func isDraft(payload []byte) bool {
	ref, ok := bytesField(payload, directoryFieldList)
	if !ok {
		return false
	}
	_, draft := bytesField(ref, draftRange)
	return draft
}

// bytesField is the content of the first length-delimited field of that number in a message.
func bytesField(b []byte, want protowire.Number) ([]byte, bool) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeField(b)
		if n < 0 {
			return nil, false
		}
		if num == want && typ == protowire.BytesType {
			_, _, tag := protowire.ConsumeTag(b)
			body, _ := protowire.ConsumeBytes(b[tag:])
			return body, true
		}
		b = b[n:]
	}
	return nil, false
}

// message gives a serialized message of type md on the other wire. Fields of other types, and those that md does not know, are
// copied.
func (w wire) message(b []byte, md protoreflect.MessageDescriptor, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, corrupt.At(0, "messages nest deeper than %d levels", maxDepth)
	}
	if md.Name() == "SplitBlockBloomFilter" {
		return w.filter(b)
	}
	out := make([]byte, 0, len(b)+len(b)/8)
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeField(b)
		if n < 0 {
			return nil, corrupt.At(0, "%s: %v", md.Name(), protowire.ParseError(n))
		}
		field := b[:n]
		b = b[n:]
		if typ != protowire.BytesType {
			out = append(out, field...)
			continue
		}
		_, _, tag := protowire.ConsumeTag(field)
		body, _ := protowire.ConsumeBytes(field[tag:])
		to, body, err := w.field(md, num, body, depth)
		if err != nil {
			return nil, err
		}
		if body == nil {
			continue
		}
		out = protowire.AppendBytes(protowire.AppendTag(out, to, protowire.BytesType), body)
	}
	return out, nil
}

// field gives a field of bytes on the other wire; no bytes leave it out.
func (w wire) field(md protoreflect.MessageDescriptor, num protowire.Number, body []byte, depth int) (protowire.Number, []byte, error) {
	switch name := md.Name(); {
	case name == "DataRef":
		return w.ref(num), body, nil
	case name == "AnyValue" && w == toDraft && num == anyDecimal:
		return anyBytes, body, nil
	case name == "CardinalityInfo" && num == cardinalitySketch:
		out, err := w.sketch(body)
		return num, out, err
	case name == "IndexDescriptor" && num == descriptorArtifacts:
		out, err := w.artifact(body)
		return num, out, err
	case name == "MembershipFilters" && num == membershipFilter && w == toDraft && hasSeed(body):
		return num, nil, nil
	}
	sub := messageType(md, num)
	if sub == nil {
		return num, body, nil
	}
	out, err := w.message(body, sub, depth+1)
	return num, out, err
}

// ref is the number of a field of DataRef on the other wire.
func (w wire) ref(num protowire.Number) protowire.Number {
	switch {
	case w == toDraft && num == refURL:
		return draftURL
	case w == toDraft && num == refRange:
		return draftRange
	case w == toCurrent && num == draftURL:
		return refURL
	case w == toCurrent && num == draftRange:
		return refRange
	}
	return num
}

func integer(n uint64) *metapb.AnyValue {
	return &metapb.AnyValue{Kind: &metapb.AnyValue_U64Value{U64Value: n}}
}

// sketch turns the sketch of a column into a struct of its four fields, and back. A struct of others is left out: it states nothing
// that could be used.
func (w wire) sketch(body []byte) ([]byte, error) {
	if w == toDraft {
		s := new(metapb.HllSketchV1)
		if err := unmarshal(body, s); err != nil {
			return nil, err
		}
		return Marshal(&metapb.AnyValue{Kind: &metapb.AnyValue_StructValue{StructValue: &metapb.StructValue{Fields: []*metapb.NameValuePair{
			Pair(sketchAlgorithm, Text(s.HashAlgorithm)), Pair(sketchSeed, integer(s.HashSeed)),
			Pair(sketchBits, integer(uint64(s.BitsPerIndex))), Pair(sketchCounters, Blob(s.Counters)),
		}}}}), nil
	}
	v := new(metapb.AnyValue)
	if err := unmarshal(body, v); err != nil {
		return nil, err
	}
	s := new(metapb.HllSketchV1)
	for _, p := range v.GetStructValue().GetFields() {
		switch p.Name {
		case sketchAlgorithm:
			s.HashAlgorithm = p.Value.GetStringValue()
		case sketchSeed:
			s.HashSeed = p.Value.GetU64Value()
		case sketchBits:
			s.BitsPerIndex = uint32(p.Value.GetU64Value())
		case sketchCounters:
			s.Counters = p.Value.GetBytesValue()
		}
	}
	if s.HashAlgorithm == "" || len(s.Counters) == 0 {
		return nil, nil
	}
	return Marshal(s), nil
}

// artifact turns an artifact of an index into the reference to it, and back. Its name is lost: readers go by the order.
func (w wire) artifact(body []byte) ([]byte, error) {
	ref := (*metapb.DataRef)(nil).ProtoReflect().Descriptor()
	if w == toDraft {
		inner, _ := bytesField(body, artifactRef)
		return w.message(inner, ref, 1)
	}
	inner, err := w.message(body, ref, 1)
	if err != nil {
		return nil, err
	}
	return protowire.AppendBytes(protowire.AppendTag(nil, artifactRef, protowire.BytesType), inner), nil
}

// hasSeed reports whether a filter of the current wire has a seed other than 0, which the draft can't say.
func hasSeed(body []byte) bool {
	f := new(metapb.SplitBlockBloomFilter)
	return proto.Unmarshal(body, f) != nil || f.HashSeed != 0
}

// filter gives a Bloom filter on the other wire. The book prints two numberings of algorithm and data: the data is what has the
// size that the number of blocks states.
func (w wire) filter(b []byte) ([]byte, error) {
	blocks, out := uint64(0), []byte(nil)
	var four, five, six []byte
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeField(b)
		if n < 0 {
			return nil, corrupt.At(0, "Bloom filter: %v", protowire.ParseError(n))
		}
		field := b[:n]
		b = b[n:]
		_, _, tag := protowire.ConsumeTag(field)
		body, _ := protowire.ConsumeBytes(field[tag:])
		switch {
		case typ == protowire.BytesType && num == filterAlgorithm:
			four = body
		case typ == protowire.BytesType && num == draftFilterData:
			five = body
		case typ == protowire.BytesType && num == filterData:
			six = body
		case num == filterSeed: // 0, or the filter is left out
		default:
			if v, n := protowire.ConsumeFixed64(field[tag:]); num == filterBlocks && n > 0 {
				blocks = v
			}
			out = append(out, field...)
		}
	}
	algorithm, data, to := four, five, protowire.Number(filterData)
	if w == toDraft {
		data, to = six, draftFilterData
	} else if uint64(len(five)) != blocks*filterBlockBytes && uint64(len(four)) == blocks*filterBlockBytes {
		algorithm, data = five, four
	}
	out = protowire.AppendBytes(protowire.AppendTag(out, filterAlgorithm, protowire.BytesType), algorithm)
	return protowire.AppendBytes(protowire.AppendTag(out, to, protowire.BytesType), data), nil
}

// messageType is the type of field num of md if it is a message, else nil.
func messageType(md protoreflect.MessageDescriptor, num protowire.Number) protoreflect.MessageDescriptor {
	if f := md.Fields().ByNumber(num); f != nil {
		return f.Message()
	}
	return nil
}
