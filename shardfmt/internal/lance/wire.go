package lance

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// wireField is one field of a protobuf message: a number, or bytes that are part of the message.
type wireField struct {
	num   protowire.Number
	typ   protowire.Type
	value uint64
	bytes []byte
}

// walk calls each for the fields of a message, in their order on the wire.
func walk(message string, b []byte, each func(f wireField) error) error {
	for at := 0; at < len(b); {
		num, typ, n := protowire.ConsumeTag(b[at:])
		if n < 0 {
			return corrupt.At(-1, "%s: not a protobuf message: %v", message, protowire.ParseError(n))
		}
		f := wireField{num: num, typ: typ}
		at += n
		switch typ {
		case protowire.VarintType:
			f.value, n = protowire.ConsumeVarint(b[at:])
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(b[at:])
		default:
			n = protowire.ConsumeFieldValue(num, typ, b[at:])
		}
		if n < 0 {
			return corrupt.At(-1, "%s: field %d: %v", message, num, protowire.ParseError(n))
		}
		at += n
		if err := each(f); err != nil {
			return err
		}
	}
	return nil
}

// is reports whether the field has a number and a type of the wire; one of another type is passed over, as protobuf
// does with fields it does not know.
func (f wireField) is(num protowire.Number, typ protowire.Type) bool {
	return f.num == num && f.typ == typ
}

// message reports whether the field is a message, text or bytes of this number.
func (f wireField) message(num protowire.Number) bool { return f.is(num, protowire.BytesType) }

// number reports whether the field is a whole number of this number.
func (f wireField) number(num protowire.Number) bool { return f.is(num, protowire.VarintType) }

// numbers appends what a repeated field of whole numbers holds, packed or one by one.
func (f wireField) numbers(dst []uint64) ([]uint64, error) {
	if f.typ == protowire.VarintType {
		return append(dst, f.value), nil
	}
	for b := f.bytes; len(b) > 0; {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return nil, corrupt.At(-1, "packed numbers: %v", protowire.ParseError(n))
		}
		dst, b = append(dst, v), b[n:]
	}
	return dst, nil
}

// entry reads an entry of a map from text to bytes.
func (f wireField) entry() (key string, value []byte, err error) {
	err = walk("map entry", f.bytes, func(e wireField) error {
		if e.message(1) {
			key = string(e.bytes)
		} else if e.message(2) {
			value = e.bytes
		}
		return nil
	})
	return key, value, err
}

// appendNumber writes a number, unless it is the default.
func appendNumber(dst []byte, num protowire.Number, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return protowire.AppendVarint(protowire.AppendTag(dst, num, protowire.VarintType), v)
}

// appendMessage writes a message, text or bytes.
func appendMessage(dst []byte, num protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, num, protowire.BytesType), b)
}

// appendNumbers writes a packed field of numbers, unless there are none.
func appendNumbers(dst []byte, num protowire.Number, values []uint64) []byte {
	if len(values) == 0 {
		return dst
	}
	var packed []byte
	for _, v := range values {
		packed = protowire.AppendVarint(packed, v)
	}
	return appendMessage(dst, num, packed)
}

// appendEntry writes an entry of a map from text to bytes.
func appendEntry(dst []byte, num protowire.Number, key string, value []byte) []byte {
	return appendMessage(dst, num, appendMessage(appendMessage(nil, 1, []byte(key)), 2, value))
}
