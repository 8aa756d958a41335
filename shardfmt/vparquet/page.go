package vparquet

import (
	"encoding/binary"
	"math/bits"
)

const (
	// pageRows is how many rows a page has, but for the last one of a chunk and for pages of large values.
	pageRows = 8192
	// pageBytes is the most bytes of the values of a page, but for a page of a single row.
	pageBytes = 64 << 20
	// fixedPageBytes is the most bytes of a page of large fixed-size values.
	fixedPageBytes = 8 << 20
	// maxWidth is the largest fixed-size value: a page has eight of them at least.
	maxWidth = pageBytes / 8
	// maxPage is the largest body of a page: its size is a signed integer of 32 bits.
	maxPage = 1<<31 - 1 - headerBytes
	// headerBytes is the size of a page header: 11 fields of one byte and integers of five, and the ends of two structures.
	headerBytes = 45
)

// rowsPerPage is how many rows a page of a leaf has at most.
func (l *leaf) rowsPerPage() int {
	if l.repeated() || l.width*pageRows <= fixedPageBytes {
		return pageRows
	}
	return max(8, fixedPageBytes/l.width&^7)
}

// page is a page that is being filled.
type page struct {
	leaf *leaf
	rows int
	// defs and reps are the levels of each entry; defs are not kept where every entry has the highest one (full).
	defs, reps []uint8
	entries    int
	// valid are the entries that are values, values their bytes; booleans are one byte each until the page is written.
	valid  int
	values []byte
}

// mark is a state of a page to go back to.
type mark struct{ rows, entries, valid, values int }

func (p *page) mark() mark { return mark{p.rows, p.entries, p.valid, len(p.values)} }

func (p *page) reset() {
	p.rows, p.entries, p.valid = 0, 0, 0
	p.defs, p.reps, p.values = p.defs[:0], p.reps[:0], p.values[:0]
}

// moveTail moves the entries behind a mark to an empty page.
func (p *page) moveTail(m mark, to *page) {
	to.defs = append(to.defs, p.defs[m.entries:]...)
	if p.leaf.repeated() {
		to.reps = append(to.reps, p.reps[m.entries:]...)
		p.reps = p.reps[:m.entries]
	}
	to.values = append(to.values, p.values[m.values:]...)
	to.entries, to.valid, to.rows = p.entries-m.entries, p.valid-m.valid, p.rows-m.rows
	p.defs, p.values = p.defs[:m.entries], p.values[:m.values]
	p.entries, p.valid, p.rows = m.entries, m.valid, m.rows
}

// levelBytes is the size of a section of levels of w bits: a length of four bytes, and one bit-packed run.
func levelBytes(entries int64, w int) int64 {
	if w == 0 {
		return 0
	}
	groups := (entries + 7) / 8
	return 4 + runHeader(groups) + groups*int64(w)
}

// runHeader is the size of the header of a bit-packed run.
func runHeader(groups int64) int64 { return int64(max(1, (bits.Len64(uint64(groups)<<1|1)+6)/7)) }

// valueBytes is the size of the values of a page. Flat columns of fixed size have space for all entries, so that no null must be counted.
func (l *leaf) valueBytes(entries, valid, bytes int64) int64 {
	switch {
	case l.physical == byteArray:
		return 4*valid + bytes
	case l.repeated():
		entries = valid
	}
	if l.physical == boolean {
		return (entries + 7) / 8
	}
	return int64(l.width) * entries
}

// pageSize is the size of a page with its header. bytes are those of byte arrays.
func (l *leaf) pageSize(entries, valid, bytes int64) int64 {
	return headerBytes + levelBytes(entries, l.repBits()) + levelBytes(entries, l.defBits()) + l.valueBytes(entries, valid, bytes)
}

// size is the size of the page with its header.
func (p *page) size() int64 {
	n := int64(len(p.values))
	if p.leaf.physical == byteArray {
		n -= 4 * int64(p.valid)
	}
	return p.leaf.pageSize(int64(p.entries), int64(p.valid), n)
}

// encode gives the bytes of the page.
func (p *page) encode() []byte {
	size := p.size()
	b := make([]byte, 0, size)
	b = appendHeader(b, size-headerBytes, p.entries)
	b = appendLevels(b, p.reps, p.leaf.repBits())
	b = appendLevels(b, p.defs, p.leaf.defBits())
	if p.leaf.physical == boolean {
		b = appendBits(b, p.values)
	} else {
		b = append(b, p.values...)
	}
	return b[:size] // zeros stand for the values of nulls
}

// appendHeader appends the header of a data page, version 1.
func appendHeader(b []byte, body int64, entries int) []byte {
	t := thrift{b: b}
	t.open()
	t.i32(1, 0, padI32) // DATA_PAGE
	t.i32(2, int32(body), padI32)
	t.i32(3, int32(body), padI32)
	t.structure(5)
	t.i32(1, int32(entries), padI32)
	t.i32(2, 0, padI32) // PLAIN
	t.i32(3, 3, padI32) // RLE
	t.i32(4, 3, padI32)
	t.close()
	t.close()
	return t.b
}

// appendLevels appends levels as one bit-packed run, the last group of eight filled with zeros.
func appendLevels(b []byte, levels []uint8, w int) []byte {
	if w == 0 {
		return b
	}
	groups := (len(levels) + 7) / 8
	header := runHeader(int64(groups))
	b = binary.LittleEndian.AppendUint32(b, uint32(header)+uint32(groups*w))
	b = binary.AppendUvarint(b, uint64(groups)<<1|1)
	for len(levels) >= 8 {
		b = appendGroup(b, levels[:8], w)
		levels = levels[8:]
	}
	if len(levels) > 0 {
		b = appendGroup(b, levels, w)
	}
	return b
}

// appendGroup appends up to eight levels of w bits, least significant first.
func appendGroup(b []byte, levels []uint8, w int) []byte {
	if w == 1 && len(levels) == 8 { // bit 0 of byte i becomes bit 56+i
		return append(b, byte(binary.LittleEndian.Uint64(levels)*0x0102040810204080>>56))
	}
	word := uint64(0)
	for i, l := range levels {
		word |= uint64(l) << (i * w)
	}
	var room [8]byte
	binary.LittleEndian.PutUint64(room[:], word)
	return append(b, room[:w]...)
}

func appendBits(b []byte, values []byte) []byte {
	for len(values) >= 8 {
		b = appendGroup(b, values[:8], 1)
		values = values[8:]
	}
	if len(values) > 0 {
		b = appendGroup(b, values, 1)
	}
	return b
}
