package schema

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// flat is a FlatBuffers buffer that nobody verified. Every accessor checks that what it touches lies inside
// the buffer; nothing else is looked at, so a field is read at a cost that does not depend on the others.
//
//	table    i32 distance back to its vtable, then the fields
//	vtable   u16 own size, u16 size of the table, u16 offset in the table per slot (0: absent)
//	vector   u32 count, elements
//	string   u32 length, bytes, NUL
//	offset   u32, from its own position on
type flat []byte

// u32 reads four bytes at pos.
func (b flat) u32(pos int) (uint32, error) {
	if pos < 0 || pos > len(b)-4 {
		return 0, corrupt.At(int64(pos), "schema: four bytes outside the buffer")
	}
	return binary.LittleEndian.Uint32(b[pos:]), nil
}

// follow reads the offset at pos and returns the position it leads to.
func (b flat) follow(pos int) (int, error) {
	off, err := b.u32(pos)
	if err != nil {
		return 0, err
	}
	to := int64(pos) + int64(off)
	if to > int64(len(b)-4) {
		return 0, corrupt.At(int64(pos), "schema: offset leads to %d of %d bytes", to, len(b))
	}
	return int(to), nil
}

// table is a table whose vtable and own extent lie in the buffer.
type table struct {
	b            flat
	pos, vt      int
	slots, bytes int
}

// table opens the table at pos.
func (b flat) table(pos int) (table, error) {
	back, err := b.u32(pos)
	if err != nil {
		return table{}, err
	}
	vt := int64(pos) - int64(int32(back))
	if vt < 0 || vt > int64(len(b)-4) {
		return table{}, corrupt.At(int64(pos), "schema: vtable outside the buffer")
	}
	t := table{b: b, pos: pos, vt: int(vt)}
	size := int(binary.LittleEndian.Uint16(b[t.vt:]))
	t.bytes = int(binary.LittleEndian.Uint16(b[t.vt+2:]))
	if size < 4 || size%2 != 0 || size > len(b)-t.vt {
		return table{}, corrupt.At(vt, "schema: vtable of %d bytes", size)
	}
	if t.bytes < 4 || t.bytes > len(b)-pos {
		return table{}, corrupt.At(int64(pos), "schema: table of %d bytes", t.bytes)
	}
	t.slots = (size - 4) / 2
	return t, nil
}

// field is the position of a slot's value of size bytes, 0 if the slot is absent.
func (t table) field(slot, size int) (int, error) {
	if slot >= t.slots {
		return 0, nil
	}
	off := int(binary.LittleEndian.Uint16(t.b[t.vt+4+2*slot:]))
	if off == 0 {
		return 0, nil
	}
	if off < 4 || off > t.bytes-size {
		return 0, corrupt.At(int64(t.pos), "schema: slot %d at %d of a table of %d bytes", slot, off, t.bytes)
	}
	return t.pos + off, nil
}

// ref is where the offset in a slot leads, 0 if the slot is absent.
func (t table) ref(slot int) (int, error) {
	pos, err := t.field(slot, 4)
	if err != nil || pos == 0 {
		return 0, err
	}
	return t.b.follow(pos)
}

// must is ref for a slot that may not be absent.
func (t table) must(slot int, what string) (int, error) {
	pos, err := t.ref(slot)
	if err == nil && pos == 0 {
		err = corrupt.At(int64(t.pos), "schema: %s is missing", what)
	}
	return pos, err
}

func (t table) byte(slot int) (byte, error) {
	pos, err := t.field(slot, 1)
	if err != nil || pos == 0 {
		return 0, err
	}
	return t.b[pos], nil
}

func (t table) bool(slot int) (bool, error) {
	v, err := t.byte(slot)
	if v > 1 {
		return false, corrupt.At(int64(t.pos), "schema: boolean %d", v)
	}
	return v == 1, err
}

func (t table) uint32(slot int) (uint32, error) {
	pos, err := t.field(slot, 4)
	if err != nil || pos == 0 {
		return 0, err
	}
	return binary.LittleEndian.Uint32(t.b[pos:]), nil
}

func (t table) uint64(slot int) (uint64, error) {
	pos, err := t.field(slot, 8)
	if err != nil || pos == 0 {
		return 0, err
	}
	return binary.LittleEndian.Uint64(t.b[pos:]), nil
}

// vector is a vector whose elements lie in the buffer.
type vector struct {
	b        flat
	start, n int
}

// vector opens the vector at pos, of elements of size bytes.
func (b flat) vector(pos, size int) (vector, error) {
	n, err := b.u32(pos)
	if err != nil {
		return vector{}, err
	}
	if uint64(n) > uint64(len(b)-pos-4)/uint64(size) {
		return vector{}, corrupt.At(int64(pos), "schema: vector of %d elements outside the buffer", n)
	}
	return vector{b: b, start: pos + 4, n: int(n)}, nil
}

// vectorAt opens the vector in a slot; an absent one is empty.
func (t table) vectorAt(slot, size int) (vector, error) {
	pos, err := t.ref(slot)
	if err != nil || pos == 0 {
		return vector{}, err
	}
	return t.b.vector(pos, size)
}

// table opens element i of a vector of tables.
func (v vector) table(i int) (table, error) {
	pos, err := v.b.follow(v.start + 4*i)
	if err != nil {
		return table{}, err
	}
	return v.b.table(pos)
}

// uint32 is element i of a vector of numbers.
func (v vector) uint32(i int) uint32 { return binary.LittleEndian.Uint32(v.b[v.start+4*i:]) }

// bytes are the elements of a vector of bytes.
func (v vector) bytes() []byte { return v.b[v.start : v.start+v.n : v.start+v.n] }

// text is the string at pos, checked to be UTF-8.
func (b flat) text(pos int) ([]byte, error) {
	v, err := b.vector(pos, 1)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(v.bytes()) {
		return nil, corrupt.At(int64(pos), "schema: text is no UTF-8")
	}
	return v.bytes(), nil
}
