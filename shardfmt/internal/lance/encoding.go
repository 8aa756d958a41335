package lance

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// kind is an array encoding, by its number in the message ArrayEncoding.
type kind protowire.Number

// The array encodings of version 2.0.
const (
	flatKind          kind = 1
	nullableKind      kind = 2
	fixedListKind     kind = 3
	listKind          kind = 4
	structKind        kind = 5
	binaryKind        kind = 6
	dictionaryKind    kind = 7
	fsstKind          kind = 8
	packedKind        kind = 9
	bitpackedKind     kind = 10
	fixedBinaryKind   kind = 11
	bitpackedPlusKind kind = 12
)

var kindNames = map[kind]string{
	flatKind: "Flat", nullableKind: "Nullable", fixedListKind: "FixedSizeList", listKind: "List", structKind: "SimpleStruct",
	binaryKind: "Binary", dictionaryKind: "Dictionary", fsstKind: "Fsst", packedKind: "PackedStruct", bitpackedKind: "Bitpacked",
	fixedBinaryKind: "FixedSizeBinary", bitpackedPlusKind: "BitpackedForNonNeg",
}

// String is the name of the message that describes the encoding.
func (k kind) String() string {
	if name, ok := kindNames[k]; ok {
		return name
	}
	return fmt.Sprintf("ArrayEncoding %d", k)
}

// place is the collection that a buffer is in.
type place uint64

// The places of buffers.
const (
	ofPage place = iota
	ofColumn
	ofFile
)

// bufferRef names a buffer.
type bufferRef struct {
	index uint64
	place place
}

// encoding is one node of a tree of encodings. Which fields have a meaning depends on its kind.
type encoding struct {
	kind kind

	bits   uint64 // Flat: of a value
	buffer bufferRef
	scheme string // Flat: of the compression, or empty
	level  string // as text, for people

	validity *encoding   // Nullable with some nulls; absent means that there are none
	allNull  bool        // Nullable of only nulls
	values   *encoding   // Nullable, FixedSizeList: items, List: offsets, Binary and Dictionary: indices, Fsst: binary
	more     *encoding   // Binary: bytes, Dictionary: items
	inner    []*encoding // PackedStruct

	dimension  uint64 // FixedSizeList
	adjustment uint64 // List, Binary: added to the offsets of nulls
	count      uint64 // List: items of the page, Dictionary: items
	symbols    []byte // Fsst
}

// String is the tree in short: SomeNull{Flat{1}, Flat{64}}.
func (e *encoding) String() string {
	switch e.kind {
	case flatKind:
		if e.scheme != "" {
			return fmt.Sprintf("Flat{%d, %s%s}", e.bits, e.scheme, e.level)
		}
		return fmt.Sprintf("Flat{%d}", e.bits)
	case nullableKind:
		switch {
		case e.allNull:
			return "AllNull"
		case e.validity != nil:
			return fmt.Sprintf("SomeNull{%v, %v}", e.validity, e.values)
		}
		return fmt.Sprintf("NoNull{%v}", e.values)
	case fixedListKind:
		return fmt.Sprintf("FixedSizeList{%d, %v}", e.dimension, e.values)
	case binaryKind:
		return fmt.Sprintf("Binary{%v, %v}", e.values, e.more)
	case dictionaryKind:
		return fmt.Sprintf("Dictionary{%v, %d × %v}", e.values, e.count, e.more)
	case listKind, fsstKind:
		return fmt.Sprintf("%v{%v}", e.kind, e.values)
	}
	return e.kind.String()
}

// parseEncoding reads an ArrayEncoding.
func parseEncoding(b []byte, depth int) (*encoding, error) {
	if depth > maxDepth {
		return nil, corrupt.Unsupported(-1, "encodings nested more than %d deep", maxDepth)
	}
	var e *encoding
	err := walk("ArrayEncoding", b, func(f wireField) (err error) {
		if f.typ != protowire.BytesType {
			return nil
		}
		e = &encoding{kind: kind(f.num)}
		return e.parse(f.bytes, depth+1)
	})
	if err == nil && e == nil {
		err = corrupt.At(-1, "an encoding without type")
	}
	return e, err
}

// parse reads the message of the encoding's own kind.
func (e *encoding) parse(b []byte, depth int) error {
	name := e.kind.String()
	switch e.kind {
	case flatKind:
		return e.parseFlat(b)
	case nullableKind:
		return e.parseNullable(b, depth)
	case structKind:
		return nil
	case packedKind:
		return e.parsePacked(b, depth)
	case fixedListKind, listKind, binaryKind, dictionaryKind, fsstKind:
	case bitpackedKind, fixedBinaryKind, bitpackedPlusKind:
		return corrupt.Unsupported(-1, "encoding %s, which no writer of version 2.0 uses", name)
	default:
		return corrupt.Unsupported(-1, "%s, which version 2.0 does not have", name)
	}
	err := walk(name, b, func(f wireField) (err error) {
		switch e.kind {
		case fixedListKind:
			if f.number(1) {
				e.dimension = f.value
			} else if f.message(2) {
				e.values, err = parseEncoding(f.bytes, depth)
			} else if f.number(3) && f.value != 0 {
				err = corrupt.Unsupported(-1, "fixed-size lists with a validity of their own, which version 2.0 does not have")
			}
			return err
		case fsstKind:
			if f.message(1) {
				e.values, err = parseEncoding(f.bytes, depth)
			} else if f.message(2) {
				e.symbols = f.bytes
			}
			return err
		}
		return e.parseCounted(f, depth)
	})
	return firstError(err, e.complete())
}

// parseCounted reads a field of List, Binary or Dictionary.
func (e *encoding) parseCounted(f wireField, depth int) (err error) {
	switch {
	case f.message(1):
		e.values, err = parseEncoding(f.bytes, depth)
	case f.message(2) && e.kind != listKind:
		e.more, err = parseEncoding(f.bytes, depth)
	case f.number(2) && e.kind == listKind, f.number(3) && e.kind == binaryKind:
		e.adjustment = f.value
	case f.number(3):
		e.count = f.value
	}
	return err
}

// complete refuses an encoding without one of its parts.
func (e *encoding) complete() error {
	if e.values == nil || e.more == nil && (e.kind == binaryKind || e.kind == dictionaryKind) {
		return corrupt.At(-1, "encoding %v lacks a part of it", e.kind)
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *encoding) parseFlat(b []byte) error {
	present := false
	err := walk("Flat", b, func(f wireField) (err error) {
		switch {
		case f.number(1):
			e.bits = f.value
		case f.message(2):
			present = true
			e.buffer, err = parseBuffer(f.bytes)
		case f.message(3):
			return walk("Compression", f.bytes, func(f wireField) error {
				if f.message(1) {
					e.scheme = string(f.bytes)
				} else if f.number(2) {
					e.level = fmt.Sprintf(" level %d", int32(f.value))
				}
				return nil
			})
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case !present:
		return corrupt.At(-1, "a Flat encoding without a buffer")
	case e.bits == 0 || e.bits > maxValueBits:
		return corrupt.At(-1, "a Flat encoding of %d bits a value", e.bits)
	}
	if e.bits == 1 || e.scheme == "none" {
		e.scheme = "" // writers named a scheme on bitmaps, which they did not compress
	}
	return nil
}

// maxValueBits bounds a value of fixed width: 1 GiB.
const maxValueBits = 8 << 30

func parseBuffer(b []byte) (r bufferRef, err error) {
	err = walk("Buffer", b, func(f wireField) error {
		if f.number(1) {
			r.index = f.value
		} else if f.number(2) {
			r.place = place(f.value)
		}
		return nil
	})
	return r, err
}

func (e *encoding) parseNullable(b []byte, depth int) error {
	seen := false
	err := walk("Nullable", b, func(f wireField) error {
		if f.typ != protowire.BytesType || f.num > 3 {
			return nil
		}
		seen = true
		e.allNull, e.validity, e.values = f.num == 3, nil, nil
		return walk("nullability", f.bytes, func(part wireField) (err error) {
			switch {
			case f.num == 2 && part.message(1):
				e.validity, err = parseEncoding(part.bytes, depth)
			case f.num == 1 && part.message(1), f.num == 2 && part.message(2):
				e.values, err = parseEncoding(part.bytes, depth)
			}
			return err
		})
	})
	if err == nil && (!seen || !e.allNull && e.values == nil) {
		return corrupt.At(-1, "encoding Nullable lacks a part of it")
	}
	return err
}

func (e *encoding) parsePacked(b []byte, depth int) error {
	present := false
	err := walk("PackedStruct", b, func(f wireField) (err error) {
		switch {
		case f.message(1):
			var inner *encoding
			inner, err = parseEncoding(f.bytes, depth)
			e.inner = append(e.inner, inner)
		case f.message(2):
			present = true
			e.buffer, err = parseBuffer(f.bytes)
		}
		return err
	})
	if err == nil && !present {
		return corrupt.At(-1, "a PackedStruct encoding without a buffer")
	}
	return err
}
