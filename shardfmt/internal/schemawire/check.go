package schemawire

import (
	"math"
	"unicode/utf8"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/schemafb"
)

// The accessors that flatc generates for Go index the buffer with whatever stands in it. So a table must pass check
// for the slots that are about to be read before the first accessor is called on it: then whatever those accessors
// touch lies in the buffer. Nothing else is looked at, so a field is read at a cost that does not depend on the others.
//
//	table    i32 distance back to its vtable, then the fields
//	vtable   u16 own size, u16 size of the table, u16 offset in the table per slot (0: absent)
//	vector   u32 count, elements; a string is one of bytes
//	offset   u32, from its own position on
//
// An accessor of an element of a vector of tables reads only the element's offset, which lies in the vector: the table
// that it leads to is checked when it is read. Elements of a vector of strings are read by aliasOf.

// slot is what check must know of a field of a table.
type slot struct {
	// entry is the position in the vtable: 4 + 2 × the number of the slot.
	entry flatbuffers.VOffsetT
	kind  slotKind
	// size in bytes: of the value for a scalar, of one element for a vector.
	size int64
	// what is the slot's name in an error if it may not be absent, else "".
	what string
}

type slotKind uint8

const (
	scalar slotKind = iota
	boolean
	vector
	subtable
)

// The slots of docs/format/schema.fbs, as groups that are read together.
var (
	schemaSlots = []slot{
		{entry: 4, kind: vector, size: 4, what: "field list"},
		{entry: 6, kind: scalar, size: 4},
	}
	schemaLookupSlot = []slot{{entry: 8, kind: subtable}}

	fieldTypeSlot     = []slot{{entry: 4, kind: subtable, what: "type of a field"}}
	fieldInternalSlot = []slot{{entry: 6, kind: subtable}}

	typeNameSlot    = []slot{{entry: 10, kind: vector, size: 1, what: "name of a field"}}
	typeAliasesSlot = []slot{{entry: 12, kind: vector, size: 4}}
	typeSlots       = []slot{
		{entry: 4, kind: scalar, size: 1},
		{entry: 6, kind: scalar, size: 4},
		{entry: 8, kind: scalar, size: 4},
		typeNameSlot[0],
		typeAliasesSlot[0],
		{entry: 14, kind: vector, size: 4, what: "children of a field"},
		{entry: 16, kind: boolean, size: 1},
		{entry: 18, kind: scalar, size: 8},
		{entry: 20, kind: subtable},
	}

	extensionSlots = []slot{
		{entry: 4, kind: vector, size: 1, what: "label of an extended type"},
		{entry: 6, kind: vector, size: 4},
	}
	propertySlots = []slot{
		{entry: 4, kind: vector, size: 1, what: "name of a type property"},
		{entry: 6, kind: subtable, what: "value of a type property"},
	}
	valueSlots = []slot{
		{entry: 4, kind: scalar, size: 1},
		{entry: 6, kind: vector, size: 1},
	}
	internalSlots = []slot{{entry: 4, kind: vector, size: 1, what: "kind of an internal field"}}
	lookupSlots   = []slot{
		{entry: 4, kind: vector, size: 4, what: "buckets of a lookup table"},
		{entry: 6, kind: vector, size: 4, what: "entries of a lookup table"},
	}
)

// rootOf is the root table of a buffer, checked for the slots of its fields.
func rootOf(b []byte) (*schemafb.Schema, error) {
	if len(b) < 4 || len(b) > math.MaxInt32 {
		return nil, corrupt.At(0, "schema: a root offset is outside the buffer of %d bytes", len(b))
	}
	root := schemafb.GetRootAsSchema(b, 0)
	return root, check(root.Table(), schemaSlots)
}

// check reports whether accessors of the given slots stay in the buffer; of a slot that leads to another table, only
// that it starts there.
func check(t flatbuffers.Table, slots []slot) error {
	pos, end := int64(t.Pos), int64(len(t.Bytes))
	vt, err := vtable(t)
	if err != nil {
		return err
	}
	entries, extent := u16(t.Bytes, vt), u16(t.Bytes, vt+2)
	if entries < 4 || entries%2 != 0 || entries > end-vt {
		return corrupt.At(vt, "schema: vtable of %d bytes", entries)
	}
	if extent < 4 || extent > end-pos {
		return corrupt.At(pos, "schema: table of %d bytes", extent)
	}
	for _, s := range slots {
		off := int64(0)
		if e := int64(s.entry); e < entries {
			off = u16(t.Bytes, vt+e)
		}
		if err := s.check(t.Bytes, pos, off, extent); err != nil {
			return err
		}
	}
	return nil
}

// vtable is the position of a table's vtable, of which there are at least four bytes.
func vtable(t flatbuffers.Table) (int64, error) {
	pos, end := int64(t.Pos), int64(len(t.Bytes))
	if pos > end-4 {
		return 0, corrupt.At(pos, "schema: offset leads to %d of %d bytes", pos, end)
	}
	vt := pos - int64(flatbuffers.GetSOffsetT(t.Bytes[pos:]))
	if vt < 0 || vt > end-4 {
		return 0, corrupt.At(pos, "schema: vtable outside the buffer")
	}
	return vt, nil
}

// check checks a value that lies off bytes into the table of extent bytes at pos; off is 0 for an absent one.
func (s slot) check(b []byte, pos, off, extent int64) error {
	if off == 0 {
		if s.what != "" {
			return corrupt.At(pos, "schema: %s is missing", s.what)
		}
		return nil
	}
	width := int64(4)
	if s.kind == scalar || s.kind == boolean {
		width = s.size
	}
	if off < 4 || off > extent-width {
		return corrupt.At(pos, "schema: slot %d at %d of a table of %d bytes", (s.entry-4)/2, off, extent)
	}
	switch s.kind {
	case vector:
		return checkVector(b, pos+off, s.size)
	case boolean:
		if b[pos+off] > 1 {
			return corrupt.At(pos, "schema: boolean %d", b[pos+off])
		}
	case subtable:
		_, err := follow(b, pos+off)
		return err
	}
	return nil
}

// checkVector checks the vector of elements of size bytes that the offset at pos leads to.
func checkVector(b []byte, pos, size int64) error {
	to, err := follow(b, pos)
	if err != nil {
		return err
	}
	n := int64(flatbuffers.GetUOffsetT(b[to:]))
	if n > (int64(len(b))-to-4)/size {
		return corrupt.At(to, "schema: vector of %d elements outside the buffer", n)
	}
	return nil
}

// follow is where the offset at pos leads.
func follow(b []byte, pos int64) (int64, error) {
	to := pos + int64(flatbuffers.GetUOffsetT(b[pos:]))
	if to > int64(len(b)-4) {
		return 0, corrupt.At(pos, "schema: offset leads to %d of %d bytes", to, len(b))
	}
	return to, nil
}

func u16(b []byte, pos int64) int64 { return int64(flatbuffers.GetVOffsetT(b[pos:])) }

// checkText checks text that was read: UTF-8, and no longer than schemafb.MaxName.
func checkText(text []byte, t flatbuffers.Table) error {
	if len(text) > schemafb.MaxName {
		return corrupt.At(int64(t.Pos), "schema: name of %d bytes", len(text))
	}
	if !utf8.Valid(text) {
		return corrupt.At(int64(t.Pos), "schema: text is not UTF-8")
	}
	return nil
}

// aliasOf is alias i of a DataType that passed check for typeAliasesSlot.
func aliasOf(t *schemafb.DataType, i int) ([]byte, error) {
	tab := t.Table()
	elements := tab.Vector(flatbuffers.UOffsetT(tab.Offset(typeAliasesSlot[0].entry)))
	if err := checkVector(tab.Bytes, int64(elements)+4*int64(i), 1); err != nil {
		return nil, err
	}
	return t.FieldAliases(i), nil
}
