package meta

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// A scan decodes a descriptor for each of its columns in each stripe, and the directory and the list of stripes before. Each is some twenty messages,
// one in another, for which the decoder of package proto makes some thirty objects by reflection. Those that are laid out plainly, as writers do it, are decoded here
// instead, into one object and one copy of the bytes. What is not plain (a field that is not known or comes twice, an encoding in Parquet,
// properties, any damage) is left to package proto, which joins, keeps or refuses it.

// decodePlain decodes payload into m, which is new, if it is a message of a type and a layout that are known here. m is as it was if not.
func decodePlain(payload []byte, m proto.Message) bool {
	switch m := m.(type) {
	case *metapb.StripeFieldDescriptor:
		return plainStripeField(payload, m)
	case *metapb.StripeList:
		return plainStripeList(payload, m)
	case *metapb.ShardDirectory:
		return plainDirectory(payload, m)
	}
	return false
}

// plainFields goes through the fields of a message. It ends at the first that is not plain, too: then done is false.
type plainFields struct {
	rest     []byte
	repeated uint64 // the numbers of the fields that may come several times, as bits
	seen     uint64

	tag    uint16 // of the field available, as it is on the wire: number and wire type
	number uint64 // its value, if it is a number,
	body   []byte // and if it has a length
}

// Tags of fields by their wire types.
const (
	varint  = uint16(protowire.VarintType)
	fixed32 = uint16(protowire.Fixed32Type)
	fixed64 = uint16(protowire.Fixed64Type)
	counted = uint16(protowire.BytesType)
)

// next goes to the next field.
func (f *plainFields) next() bool {
	b := f.rest
	if len(b) < 2 {
		return false
	}
	tag, n := uint16(b[0]), 1
	if tag >= 0x80 {
		if b[1] > 3 || b[1] == 0 { // numbers from 64 on are none of ours
			return false
		}
		tag, n = tag&0x7F|uint16(b[1])<<7, 2
	}
	bit := uint64(1) << (tag >> 3)
	if f.seen&^f.repeated&bit != 0 {
		return false
	}
	switch b = b[n:]; tag & 7 {
	case varint:
		if f.number, n = protowire.ConsumeVarint(b); n < 0 {
			return false
		}
	case fixed64:
		if n = 8; len(b) < n {
			return false
		}
		f.number = binary.LittleEndian.Uint64(b)
	case fixed32:
		if n = 4; len(b) < n {
			return false
		}
		f.number = uint64(binary.LittleEndian.Uint32(b))
	case counted:
		if f.body, n = protowire.ConsumeBytes(b); n < 0 {
			return false
		}
	default:
		return false
	}
	f.seen |= bit
	f.tag, f.rest = tag, b[n:]
	return true
}

// done reports whether all fields were plain.
func (f *plainFields) done() bool { return len(f.rest) == 0 }

// text is the field available as a string that shares its memory. It is not ok if it is no UTF-8.
func (f *plainFields) text() (s string, ok bool) {
	return unsafe.String(unsafe.SliceData(f.body), len(f.body)), utf8.Valid(f.body)
}

// owned is a copy of payload, in which strings and bytes of the decoded message lie.
func owned(payload []byte) []byte { return append([]byte(nil), payload...) }

// plainRef is a reference with its range.
type plainRef struct {
	of metapb.DataRef
	in metapb.UInt64Range
}

// decode decodes a DataRef, nil if it is not plain.
func (r *plainRef) decode(b []byte) *metapb.DataRef {
	f := plainFields{rest: b}
	for f.next() {
		switch f.tag {
		case 1<<3 | counted:
			var ok bool
			if r.of.Url, ok = f.text(); !ok {
				return nil
			}
		case 2<<3 | counted:
			if !twoNumbers(f.body, &r.in.Start, &r.in.End) {
				return nil
			}
			r.of.Range = &r.in
		default:
			return nil
		}
	}
	if !f.done() {
		return nil
	}
	return &r.of
}

// twoNumbers decodes a message of two numbers of eight bytes.
func twoNumbers(b []byte, one, two *uint64) bool {
	f := plainFields{rest: b}
	for f.next() {
		switch f.tag {
		case 1<<3 | fixed64:
			*one = f.number
		case 2<<3 | fixed64:
			*two = f.number
		default:
			return false
		}
	}
	return f.done()
}

// plainDirectory decodes the table of contents of a root.
func plainDirectory(payload []byte, m *metapb.ShardDirectory) bool {
	d := new(struct {
		refs [6]plainRef
		to   [6]*metapb.DataRef
		raw  uint64
	})
	var records, deleted, stripes uint64
	var raw *uint64
	f := plainFields{rest: owned(payload)}
	for f.next() {
		switch i := f.tag>>3 - 1; f.tag {
		case 1<<3 | counted, 2<<3 | counted, 3<<3 | counted, 4<<3 | counted, 5<<3 | counted, 6<<3 | counted:
			if d.to[i] = d.refs[i].decode(f.body); d.to[i] == nil {
				return false
			}
		case 7<<3 | fixed64:
			records = f.number
		case 8<<3 | fixed64:
			deleted = f.number
		case 9<<3 | fixed64:
			stripes = f.number
		case 10<<3 | fixed64:
			d.raw = f.number
			raw = &d.raw
		default:
			return false
		}
	}
	if !f.done() {
		return false
	}
	m.SchemaRef, m.PropertiesRef, m.FieldListRef, m.StripeListRef, m.UrlListRef, m.IndexesRef = d.to[0], d.to[1], d.to[2], d.to[3], d.to[4], d.to[5]
	m.TotalRecordCount, m.DeletedRecordCount, m.StripeCount, m.RawDataSize = records, deleted, stripes, raw
	return true
}

// mostPlain is how many stripes, or buffers of an encoding, are decoded here: few enough that no limit of messages (maxMessages) is near.
const mostPlain = 4096

// plainStripeList decodes the list of stripes.
func plainStripeList(payload []byte, m *metapb.StripeList) bool {
	var list []*metapb.StripeDirectory
	f := plainFields{rest: owned(payload), repeated: 1 << 1}
	for f.next() {
		if f.tag != 1<<3|counted || len(list) == mostPlain {
			return false
		}
		s := plainStripe(f.body)
		if s == nil {
			return false
		}
		list = append(list, s)
	}
	if !f.done() {
		return false
	}
	m.Stripes = list
	return true
}

// plainStripe decodes the directory of a stripe, nil if it is not plain.
func plainStripe(b []byte) *metapb.StripeDirectory {
	s := new(struct {
		of   metapb.StripeDirectory
		refs [3]plainRef
		raw  uint64
	})
	to := [3]**metapb.DataRef{&s.of.PropertiesRef, &s.of.FieldListRef, &s.of.IndexesRef}
	f := plainFields{rest: b}
	for f.next() {
		switch i := f.tag>>3 - 1; f.tag {
		case 1<<3 | counted, 2<<3 | counted, 3<<3 | counted:
			if *to[i] = s.refs[i].decode(f.body); *to[i] == nil {
				return nil
			}
		case 4<<3 | fixed64:
			s.of.TotalRecordCount = f.number
		case 5<<3 | fixed64:
			s.of.DeletedRecordCount = f.number
		case 6<<3 | fixed64:
			s.raw = f.number
			s.of.RawDataSize = &s.raw
		case 7<<3 | fixed64:
			s.of.ShardPosition = f.number
		default:
			return nil
		}
	}
	if !f.done() {
		return nil
	}
	return &s.of
}

// plainAny decodes a value that is neither a list, a struct nor a reference.
func plainAny(b []byte, v *metapb.AnyValue) bool {
	f := plainFields{rest: b}
	for f.next() {
		if v.Kind != nil {
			return false // the last of two counts
		}
		switch f.tag {
		case 2<<3 | varint:
			v.Kind = &metapb.AnyValue_BoolValue{BoolValue: f.number != 0}
		case 3<<3 | varint:
			v.Kind = &metapb.AnyValue_U64Value{U64Value: f.number}
		case 4<<3 | varint:
			v.Kind = &metapb.AnyValue_I64Value{I64Value: int64(f.number)}
		case 5<<3 | fixed64:
			v.Kind = &metapb.AnyValue_DoubleValue{DoubleValue: math.Float64frombits(f.number)}
		case 8<<3 | counted:
			s, ok := f.text()
			if !ok {
				return false
			}
			v.Kind = &metapb.AnyValue_StringValue{StringValue: s}
		case 9<<3 | counted:
			v.Kind = &metapb.AnyValue_BytesValue{BytesValue: ownBytes(f.body)}
		case 10<<3 | counted:
			v.Kind = &metapb.AnyValue_DecimalValue{DecimalValue: ownBytes(f.body)}
		default:
			return plainTime(f, v)
		}
	}
	return f.done()
}

// plainTime decodes a value whose only field, the current one, is a time or a span of it.
func plainTime(f plainFields, v *metapb.AnyValue) bool {
	if !f.done() {
		return false
	}
	var ticks uint64
	inner := plainFields{rest: f.body}
	for inner.next() {
		if inner.tag != 1<<3|fixed64 {
			return false
		}
		ticks = inner.number
	}
	switch f.tag {
	case 6<<3 | counted:
		v.Kind = &metapb.AnyValue_DatetimeValue{DatetimeValue: &metapb.DateTimeUtc{Ticks: ticks}}
	case 7<<3 | counted:
		v.Kind = &metapb.AnyValue_TimespanValue{TimespanValue: &metapb.TimeSpan{Ticks: ticks}}
	default:
		return false
	}
	return inner.done()
}

// ownBytes are bytes that end where they end, so that nobody appends to them in place.
func ownBytes(b []byte) []byte {
	if len(b) == 0 {
		return []byte{}
	}
	return b[:len(b):len(b)]
}
