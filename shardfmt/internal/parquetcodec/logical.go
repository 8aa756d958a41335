package parquetcodec

import (
	"encoding/binary"
	"errors"
)

// WithoutUnknownTypes gives a footer without the logical types that Arrow's reader does not know, which refuses the whole file for one: such
// columns are those of their physical types. ok is false if there is none, or the footer is not understood.
func WithoutUnknownTypes(footer []byte) (out []byte, ok bool) {
	t := &compact{b: footer}
	var drop [][2]int
	err := t.fields(func(id int, kind byte) error {
		if id != schemaField || kind != listKind {
			return t.skip(kind, 0)
		}
		return t.list(func(kind byte) error {
			if kind != structKind {
				return errThrift
			}
			return t.fields(func(id int, kind byte) error {
				start := t.field
				if id != logicalField || kind != structKind {
					return t.skip(kind, 0)
				}
				known := true
				err := t.fields(func(id int, kind byte) error {
					known = known && knownType(id)
					return t.skip(kind, 0)
				})
				if !known {
					drop = append(drop, [2]int{start, t.at})
				}
				return err
			})
		})
	})
	if err != nil || len(drop) == 0 {
		return nil, false
	}
	at := 0
	for _, d := range drop {
		if footer[d[1]] != 0 { // the last field of its element: what follows would count from it
			return nil, false
		}
		out, at = append(out, footer[at:d[0]]...), d[1]
	}
	return append(out, footer[at:]...), true
}

// Fields of FileMetaData and SchemaElement.
const (
	schemaField  = 2
	logicalField = 10
)

// knownType reports whether a field of the union LogicalType is one of parquet.thrift; 9 is reserved there.
func knownType(id int) bool { return id >= 1 && id <= 18 && id != 9 }

// Kinds of Thrift's compact protocol.
const (
	falseKind  = 2
	i32Kind    = 5
	listKind   = 9
	setKind    = 10
	structKind = 12
	maxNesting = 32
)

var errThrift = errors.New("invalid footer")

// compact walks over a structure in Thrift's compact protocol.
type compact struct {
	b  []byte
	at int
	// field is where the header of the field available starts.
	field int
}

func (t *compact) byte() (byte, error) {
	if t.at >= len(t.b) {
		return 0, errThrift
	}
	t.at++
	return t.b[t.at-1], nil
}

func (t *compact) varint() (uint64, error) {
	v, n := binary.Uvarint(t.b[t.at:])
	if n <= 0 {
		return 0, errThrift
	}
	t.at += n
	return v, nil
}

// number reads a number of 32 bits that is not negative.
func (t *compact) number(into *int) error {
	v, err := t.varint()
	if err != nil || v&1 != 0 || v>>1 >= 1<<31 {
		return errThrift
	}
	*into = int(v >> 1)
	return nil
}

// fields calls do with each field of a structure, which passes over its value.
func (t *compact) fields(do func(id int, kind byte) error) error {
	for id := 0; ; {
		start := t.at
		head, err := t.byte()
		if err != nil || head == 0 {
			return err
		}
		if delta := int(head >> 4); delta > 0 {
			id += delta
		} else {
			v, err := t.varint()
			if err != nil || v > 1<<16 {
				return errThrift
			}
			id = int(v>>1) ^ -int(v&1)
		}
		t.field = start
		if err := do(id, head&15); err != nil {
			return err
		}
	}
}

// list calls do for each element of a list, which passes over it.
func (t *compact) list(do func(kind byte) error) error {
	head, err := t.byte()
	if err != nil {
		return err
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = t.varint(); err != nil {
			return err
		}
	}
	if n > uint64(len(t.b)-t.at) {
		return errThrift
	}
	for range n {
		if err := do(head & 15); err != nil {
			return err
		}
	}
	return nil
}

// skip passes over a value; booleans are in the header of their field, or bytes of a list.
func (t *compact) skip(kind byte, depth int) error {
	if depth > maxNesting {
		return errThrift
	}
	switch kind {
	case 1, 2:
		return nil
	case 3:
		_, err := t.byte()
		return err
	case 4, 5, 6:
		_, err := t.varint()
		return err
	case 7, 8:
		n := uint64(8)
		if kind == 8 {
			var err error
			if n, err = t.varint(); err != nil {
				return err
			}
		}
		if n > uint64(len(t.b)-t.at) {
			return errThrift
		}
		t.at += int(n)
		return nil
	case listKind, setKind:
		return t.list(func(kind byte) error {
			if kind <= 2 {
				_, err := t.byte()
				return err
			}
			return t.skip(kind, depth+1)
		})
	case structKind:
		return t.fields(func(_ int, kind byte) error { return t.skip(kind, depth+1) })
	}
	return errThrift // maps are nowhere in a footer
}
