package meta

import (
	"math"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// plainField is a descriptor of a field in a stripe with all that usual ones consist of.
type plainField struct {
	of          metapb.FieldDescriptor
	nulls       uint64
	dictionary  uint64
	raw         uint64
	ranges      metapb.RangeStats
	values      [2]metapb.AnyValue
	cardinality metapb.CardinalityInfo
	count       uint64
	sketch      metapb.HllSketchV1
	filters     metapb.MembershipFilters
	bloom       metapb.SplitBlockBloomFilter

	encoding  metapb.DataEncoding
	kind      metapb.DataEncoding_Native
	native    metapb.NativeDataEncoding
	encodings [1]*metapb.DataEncoding
	buffers   [2]plainBuffer
	list      [2]*metapb.EncodedBuffer
}

// plainBuffer is a buffer with its references.
type plainBuffer struct {
	of        metapb.EncodedBuffer
	data, at  plainRef
	blocks    uint64
	id, group uint32
}

// plainStripeField decodes the descriptor of a field with one encoding of our own, or none.
func plainStripeField(payload []byte, m *metapb.StripeFieldDescriptor) bool {
	p := new(plainField)
	var field *metapb.FieldDescriptor
	var encodings []*metapb.DataEncoding
	f := plainFields{rest: owned(payload)}
	for f.next() {
		switch f.tag {
		case 1<<3 | counted:
			if !p.field(f.body) {
				return false
			}
			field = &p.of
		case 2<<3 | counted:
			if !p.encoded(f.body) {
				return false
			}
			p.encodings[0] = &p.encoding
			encodings = p.encodings[:]
		default:
			return false
		}
	}
	if !f.done() {
		return false
	}
	m.Field, m.Encodings = field, encodings
	return true
}

// field decodes what is reported of the values.
func (p *plainField) field(b []byte) bool {
	f := plainFields{rest: b}
	for ok := true; f.next(); {
		switch f.tag {
		case 1<<3 | fixed64:
			p.of.PositionCount = f.number
		case 2<<3 | fixed64:
			p.nulls = f.number
			p.of.NullCount = &p.nulls
		case 3<<3 | counted:
			p.of.ConstantValue = new(metapb.AnyValue)
			ok = plainAny(f.body, p.of.ConstantValue)
		case 4<<3 | fixed64:
			p.dictionary = f.number
			p.of.DictionarySize = &p.dictionary
		case 6<<3 | counted:
			p.of.RangeStats = &p.ranges
			ok = p.bounds(f.body)
		case 7<<3 | counted:
			p.of.Cardinality = &p.cardinality
			ok = p.distinct(f.body)
		case 8<<3 | counted:
			p.of.MembershipFilters = &p.filters
			ok = p.membership(f.body)
		case 41<<3 | fixed64:
			p.raw = f.number
			p.of.RawDataSize = &p.raw
		default:
			ok = p.of.TypeSpecific == nil && p.specific(f.tag, f.body)
		}
		if !ok {
			return false
		}
	}
	return f.done()
}

// bounds decodes the least and the greatest value.
func (p *plainField) bounds(b []byte) bool {
	f, r := plainFields{rest: b}, &p.ranges
	for ok := true; f.next(); {
		switch f.tag {
		case 1<<3 | counted:
			r.MinValue = &p.values[0]
			ok = plainAny(f.body, r.MinValue)
		case 2<<3 | varint:
			r.MinInclusive = f.number != 0
		case 3<<3 | counted:
			r.MaxValue = &p.values[1]
			ok = plainAny(f.body, r.MaxValue)
		case 4<<3 | varint:
			r.MaxInclusive = f.number != 0
		default:
			return false
		}
		if !ok {
			return false
		}
	}
	return f.done()
}

// distinct decodes the number of different values.
func (p *plainField) distinct(b []byte) bool {
	f, c := plainFields{rest: b}, &p.cardinality
	for f.next() {
		switch f.tag {
		case 1<<3 | fixed64:
			p.count = f.number
			c.Count = &p.count
		case 2<<3 | varint:
			c.IsEstimate = f.number != 0
		case 3<<3 | counted:
			c.HllSketch = &p.sketch
			if !p.sketched(f.body) {
				return false
			}
		default:
			return false
		}
	}
	return f.done()
}

func (p *plainField) sketched(b []byte) bool {
	f, s := plainFields{rest: b}, &p.sketch
	for ok := true; f.next(); {
		switch f.tag {
		case 1<<3 | counted:
			s.HashAlgorithm, ok = f.text()
		case 2<<3 | fixed64:
			s.HashSeed = f.number
		case 3<<3 | fixed32:
			s.BitsPerIndex = uint32(f.number)
		case 4<<3 | counted:
			s.Counters = ownBytes(f.body)
		default:
			return false
		}
		if !ok {
			return false
		}
	}
	return f.done()
}

// membership decodes a Bloom filter.
func (p *plainField) membership(b []byte) bool {
	f := plainFields{rest: b}
	for f.next() {
		if f.tag != 1<<3|counted || !p.blooming(f.body) {
			return false
		}
		p.filters.Sbbf = &p.bloom
	}
	return f.done()
}

func (p *plainField) blooming(b []byte) bool {
	f, s := plainFields{rest: b}, &p.bloom
	for ok := true; f.next(); {
		switch f.tag {
		case 1<<3 | fixed64:
			s.NumBlocks = f.number
		case 2<<3 | fixed64:
			s.TargetFpp = math.Float64frombits(f.number)
		case 3<<3 | fixed64:
			s.NumValues = f.number
		case 4<<3 | counted:
			s.HashAlgorithm, ok = f.text()
		case 5<<3 | fixed64:
			s.HashSeed = f.number
		case 6<<3 | counted:
			s.Data = ownBytes(f.body)
		default:
			return false
		}
		if !ok {
			return false
		}
	}
	return f.done()
}

// specific decodes the statistics of a type.
func (p *plainField) specific(tag uint16, b []byte) bool {
	switch tag {
	case 20<<3 | counted:
		s := new(metapb.StringStats)
		p.of.TypeSpecific = &metapb.FieldDescriptor_StringStats{StringStats: s}
		return eightBytes(b, []*uint64{1: &s.MinSize, 3: &s.MaxSize}, []**uint64{2: &s.MinNonEmptySize, 4: &s.AsciiCount})
	case 21<<3 | counted:
		s := new(metapb.ListStats)
		p.of.TypeSpecific = &metapb.FieldDescriptor_ListStats{ListStats: s}
		return eightBytes(b, []*uint64{1: &s.MinLength, 3: &s.MaxLength}, []**uint64{2: &s.MinNonEmptyLength})
	case 22<<3 | counted:
		s := new(metapb.BooleanStats)
		p.of.TypeSpecific = &metapb.FieldDescriptor_BooleanStats{BooleanStats: s}
		return twoNumbers(b, &s.TrueCount, &s.FalseCount)
	case 23<<3 | counted:
		s := new(metapb.DecimalStats)
		p.of.TypeSpecific = &metapb.FieldDescriptor_DecimalStats{DecimalStats: s}
		return eightBytes(b, []*uint64{1: &s.ZeroCount, &s.PositiveCount, &s.NegativeCount, &s.NanCount}, nil)
	case 24<<3 | counted:
		s := new(metapb.FloatingStats)
		p.of.TypeSpecific = &metapb.FieldDescriptor_FloatingStats{FloatingStats: s}
		return eightBytes(b, []*uint64{1: &s.ZeroCount, &s.PositiveCount, &s.NegativeCount, &s.NanCount,
			&s.PositiveInfinityCount, &s.NegativeInfinityCount}, nil)
	case 25<<3 | counted:
		s := new(metapb.BinaryStats)
		p.of.TypeSpecific = &metapb.FieldDescriptor_BinaryStats{BinaryStats: s}
		return eightBytes(b, []*uint64{1: &s.MinLength, 3: &s.MaxLength}, []**uint64{2: &s.MinNonEmptyLength})
	}
	return false
}

// eightBytes decodes a message of numbers of eight bytes, by their fields' numbers: those that are there always, and those that may be missing.
func eightBytes(b []byte, always []*uint64, perhaps []**uint64) bool {
	f := plainFields{rest: b}
	for f.next() {
		switch i := int(f.tag >> 3); {
		case f.tag&7 != fixed64:
			return false
		case i < len(always) && always[i] != nil:
			*always[i] = f.number
		case i < len(perhaps) && perhaps[i] != nil:
			n := f.number
			*perhaps[i] = &n
		default:
			return false
		}
	}
	return f.done()
}

// encoded decodes an encoding.
func (p *plainField) encoded(b []byte) bool {
	f := plainFields{rest: b}
	for f.next() {
		if f.tag != 1<<3|counted || !p.nativelyEncoded(f.body) {
			return false
		}
		p.kind.Native = &p.native
		p.encoding.Kind = &p.kind
	}
	return f.done()
}

func (p *plainField) nativelyEncoded(b []byte) bool {
	f := plainFields{rest: b, repeated: 1 << 1}
	list := p.list[:0]
	for f.next() {
		switch f.tag {
		case 1<<3 | counted:
			x := p.buffer(len(list))
			if len(list) == mostPlain || !x.decode(f.body) {
				return false
			}
			list = append(list, &x.of)
		case 10<<3 | varint:
			p.native.PackedGroup = f.number != 0
		default:
			return false
		}
	}
	if len(list) > 0 {
		p.native.Buffers = list
	}
	return f.done()
}

// buffer is the space for buffer i.
func (p *plainField) buffer(i int) *plainBuffer {
	if i < len(p.buffers) {
		return &p.buffers[i]
	}
	return new(plainBuffer)
}

// decode decodes a buffer.
func (x *plainBuffer) decode(b []byte) bool {
	f := plainFields{rest: b}
	for f.next() {
		switch f.tag {
		case 1<<3 | varint:
			x.of.Kind = metapb.BufferKind(f.number)
		case 2<<3 | counted:
			if x.of.Buffer = x.data.decode(f.body); x.of.Buffer == nil {
				return false
			}
		case 3<<3 | counted:
			if x.of.BlockMap = x.at.decode(f.body); x.of.BlockMap == nil {
				return false
			}
		case 4<<3 | fixed64:
			x.blocks = f.number
			x.of.BlockCount = &x.blocks
		case 5<<3 | varint:
			x.of.BlockChecksums = f.number != 0
		case 6<<3 | varint:
			x.of.EmbeddedPresence = f.number != 0
		case 7<<3 | varint:
			x.of.EmbeddedOffsets = f.number != 0
		case 20<<3 | fixed32:
			x.id = uint32(f.number)
			x.of.BufferId = &x.id
		case 21<<3 | fixed32:
			x.group = uint32(f.number)
			x.of.PackedGroupIndex = &x.group
		default:
			return false
		}
	}
	return f.done()
}
