// Package protoscan walks over protobuf messages that have no generated code: few fields of few messages.
package protoscan

import "google.golang.org/protobuf/encoding/protowire"

// Each visits the fields of a message in their order: v is the value of a varint, body that of a field of bytes. Those of
// fixed size are skipped. An error of visit ends the walk.
func Each(b []byte, visit func(n protowire.Number, v uint64, body []byte) error) error {
	for len(b) > 0 {
		n, wire, size := protowire.ConsumeTag(b)
		if size < 0 {
			return protowire.ParseError(size)
		}
		b = b[size:]
		var v uint64
		var body []byte
		switch wire {
		case protowire.VarintType:
			v, size = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			body, size = protowire.ConsumeBytes(b)
		default:
			size = protowire.ConsumeFieldValue(n, wire, b)
		}
		if size < 0 {
			return protowire.ParseError(size)
		}
		b = b[size:]
		if err := visit(n, v, body); err != nil {
			return err
		}
	}
	return nil
}

// Entry reads an entry of a map from texts to bytes.
func Entry(b []byte) (key string, value []byte, err error) {
	err = Each(b, func(n protowire.Number, _ uint64, body []byte) error {
		switch n {
		case 1:
			key = string(body)
		case 2:
			value = body
		}
		return nil
	})
	return key, value, err
}

// Varints are the values of a repeated field of numbers, of which body is one packed run or, where it is nil, v is one.
func Varints(dst []uint64, v uint64, body []byte) ([]uint64, error) {
	if body == nil {
		return append(dst, v), nil
	}
	for len(body) > 0 {
		v, size := protowire.ConsumeVarint(body)
		if size < 0 {
			return dst, protowire.ParseError(size)
		}
		dst, body = append(dst, v), body[size:]
	}
	return dst, nil
}
