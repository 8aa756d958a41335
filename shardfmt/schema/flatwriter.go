package schema

import (
	"encoding/binary"
	"slices"
)

// flatWriter builds a FlatBuffers buffer from its end to its start: what a table refers to lies behind it.
// It lays bytes out as the reference's runtime does (planus), so that equal schemas are equal bytes.
//
// While the length of what comes before is unknown, positions are counted from the end; only their value
// modulo the largest alignment met so far matters, and lead is that value for the first byte written.
type flatWriter struct {
	// buf holds the bytes in reverse order of items: the buffer's end is buf's end, it grows at the front.
	buf  []byte
	used int
	// lead is the position of the first byte modulo mask+1.
	lead, mask int
	strings    map[string]int
	vtables    map[string]int
}

func newFlatWriter(sizeHint int) *flatWriter {
	return &flatWriter{
		buf:     make([]byte, max(sizeHint, 64)),
		strings: map[string]int{},
		vtables: map[string]int{},
	}
}

// place makes room for size bytes at the front whose first one is aligned, with zeros behind them where that
// takes some. It returns the room.
func (w *flatWriter) place(size, align int) []byte {
	mask := align - 1
	lead := w.lead - size
	pad := lead & min(mask, w.mask)
	w.mask = max(w.mask, mask)
	w.lead = (lead - pad) & w.mask
	if align > 1 && mask == w.mask {
		w.lead = 0
	}
	w.grow(size + pad)
	w.used += size + pad
	at := len(w.buf) - w.used
	clear(w.buf[at+size : at+size+pad])
	return w.buf[at : at+size]
}

func (w *flatWriter) grow(n int) {
	if w.used+n <= len(w.buf) {
		return
	}
	bigger := make([]byte, 2*len(w.buf)+n)
	copy(bigger[len(bigger)-w.used:], w.buf[len(w.buf)-w.used:])
	w.buf = bigger
}

// offset is the value to store at a field that lies at mark `at` to refer to the item at mark to; marks are
// distances from the end.
func offset(at, to int) uint32 { return uint32(at - to) }

// text writes s, or finds the one written before, and returns its mark.
func (w *flatWriter) text(s string) int {
	if mark, ok := w.strings[s]; ok {
		return mark
	}
	room := w.place(4+len(s)+1, 4)
	binary.LittleEndian.PutUint32(room, uint32(len(s)))
	copy(room[4:], s)
	room[4+len(s)] = 0
	w.strings[s] = w.used
	return w.used
}

// blob writes a vector of bytes.
func (w *flatWriter) blob(b []byte) int {
	room := w.place(4+len(b), 4)
	binary.LittleEndian.PutUint32(room, uint32(len(b)))
	copy(room[4:], b)
	return w.used
}

// numbers writes a vector of u32.
func (w *flatWriter) numbers(vals []uint32) int {
	room := w.place(4+4*len(vals), 4)
	binary.LittleEndian.PutUint32(room, uint32(len(vals)))
	for i, v := range vals {
		binary.LittleEndian.PutUint32(room[4+4*i:], v)
	}
	return w.used
}

// refs writes a vector of offsets to the items at marks.
func (w *flatWriter) refs(marks []int) int {
	room := w.place(4+4*len(marks), 4)
	binary.LittleEndian.PutUint32(room, uint32(len(marks)))
	for i, mark := range marks {
		at := w.used - 4 - 4*i
		binary.LittleEndian.PutUint32(room[4+4*i:], offset(at, mark))
	}
	return w.used
}

// slotValue is a field of a table on its way out: a number, or the mark of an item to refer to.
type slotValue struct {
	slot, size int
	value      uint64
	mark       int
}

// table writes a table of the given fields, which stand in slot order, after its vtable, and returns its mark.
func (w *flatWriter) table(fields []slotValue) int {
	vt, order, size, align := plan(fields)
	vtMark, ok := w.vtables[string(vt)]
	if !ok {
		copy(w.place(len(vt), 2), vt)
		vtMark = w.used
		w.vtables[string(vt)] = vtMark
	}
	body := w.place(size-4, align)
	pos := 0
	for _, f := range order {
		switch {
		case f.mark != 0:
			binary.LittleEndian.PutUint32(body[pos:], offset(w.used-pos, f.mark))
		case f.size == 8:
			binary.LittleEndian.PutUint64(body[pos:], f.value)
		case f.size == 4:
			binary.LittleEndian.PutUint32(body[pos:], uint32(f.value))
		default:
			body[pos] = byte(f.value)
		}
		pos += f.size
	}
	head := w.place(4, 4)
	// The vtable lies behind: the distance back to it is negative.
	binary.LittleEndian.PutUint32(head, uint32(vtMark-w.used))
	return w.used
}

// plan orders the fields of a table by falling size and makes its vtable, cut after the last field present.
func plan(fields []slotValue) (vt []byte, order []slotValue, size, align int) {
	order = slices.Clone(fields)
	slices.SortStableFunc(order, func(a, b slotValue) int { return b.size - a.size })
	slots := 0
	if len(fields) > 0 {
		slots = fields[len(fields)-1].slot + 1
	}
	vt = make([]byte, 4+2*slots)
	size, align = 4, 4
	for _, f := range order {
		binary.LittleEndian.PutUint16(vt[4+2*f.slot:], uint16(size))
		size += f.size
		align = max(align, f.size)
	}
	binary.LittleEndian.PutUint16(vt, uint16(len(vt)))
	binary.LittleEndian.PutUint16(vt[2:], uint16(size))
	return vt, order, size, align
}

// finish writes the offset of the root table and returns the buffer.
func (w *flatWriter) finish(root int) []byte {
	room := w.place(4, w.mask+1)
	binary.LittleEndian.PutUint32(room, offset(w.used, root))
	return w.buf[len(w.buf)-w.used:]
}
