package block

import "encoding/binary"

// Frames of even records (shardfmt/internal/encode/evenrecords.go) are frames of Zstd in which every record of 16 bytes is a few literals and the rest of the
// record before. A general decoder carries out one sequence after the other; here the rest of all records of a block is known before the first of
// them, and each takes two words to write. What is no such frame, or a damaged one, is left to the general decoder.

const (
	evenRecord = 16
	mostEven   = 8
)

// evenFrame is the state of reading such a frame: the rest of it, and how much of dst is written.
type evenFrame struct {
	zstdBlocks
	dst []byte
	at  int
	// opened: the first repeated offset is that of a record.
	opened bool
}

// unzstdEven fills dst, exactly, from a frame of even records; false, with dst in any state, if src is anything else.
func unzstdEven(dst, src []byte) bool {
	blocks, ok := openFrame(src, uint64(len(dst)))
	if !ok {
		return false
	}
	f := evenFrame{zstdBlocks: blocks, dst: dst}
	for !f.ended {
		b, raw, ok := f.next()
		if !ok || raw && !f.raw(b) || !raw && !f.block(b) {
			return false
		}
	}
	return f.at == len(dst)
}

// raw appends bytes as they are.
func (f *evenFrame) raw(b []byte) bool {
	if len(b) > len(f.dst)-f.at {
		return false
	}
	f.at += copy(f.dst[f.at:], b)
	return true
}

// block appends what a compressed block stands for.
func (f *evenFrame) block(b []byte) bool {
	if len(b) < 4 || b[0]&15 != 3<<2 { // raw literals, 20 bits for their number
		return false
	}
	literals := int(uint32(b[0])|uint32(b[1])<<8|uint32(b[2])<<16) >> 4
	if literals > len(b)-4 {
		return false
	}
	n, tail, ok := sequences(b[3+literals:])
	if !ok {
		return false
	}
	from, each := b[3:], 0
	if n > 0 {
		if each, ok = f.even(n, tail); !ok || n*each > literals || n*evenRecord+literals-n*each > zstdBlock || n*evenRecord > len(f.dst)-f.at {
			return false
		}
		f.records(from, n, each)
	} else if len(tail) != 0 {
		return false
	}
	return f.raw(from[n*each : literals])
}

// even reads the tables of n sequences: all alike, with a record's distance and length. It gives the number of literals of each.
func (f *evenFrame) even(n int, b []byte) (literals int, ok bool) {
	if len(b) != 5 || b[0] != oneSymbolTables || f.at < evenRecord {
		return 0, false
	}
	literals = int(b[1])
	if literals < 1 || literals > mostEven || int(b[3]) != evenRecord-literals-3 {
		return 0, false
	}
	switch {
	case b[2] == 0 && b[4] == 1:
		return literals, f.opened
	case b[2] == 4 && b[4] == 1<<4|3 && n == 1: // the distance itself
		f.opened = true
		return literals, true
	}
	return 0, false
}

// records writes n records of so many literals each, which stand at the start of from.
func (f *evenFrame) records(from []byte, n, literals int) {
	mask := ^uint64(0) >> (64 - 8*literals)
	low := binary.LittleEndian.Uint64(f.dst[f.at-evenRecord:]) &^ mask
	high := binary.LittleEndian.Uint64(f.dst[f.at-evenRecord/2:])
	out := f.dst[f.at : f.at+n*evenRecord]
	f.at += len(out)
	for len(out) >= evenRecord && len(from) >= 8 {
		v := binary.LittleEndian.Uint64(from)&mask | low
		binary.LittleEndian.PutUint64(out, v)
		binary.LittleEndian.PutUint64(out[8:], high)
		out, from = out[evenRecord:], from[literals:]
	}
	for ; len(out) >= evenRecord; out = out[evenRecord:] { // fewer than eight bytes follow
		var v uint64
		for i, b := range from[:min(literals, len(from))] {
			v |= uint64(b) << (8 * i)
		}
		binary.LittleEndian.PutUint64(out, v|low)
		binary.LittleEndian.PutUint64(out[8:], high)
		from = from[min(literals, len(from)):]
	}
}

// ReadsEvenRecords fills dst from a frame of even records and reports whether src is one: so that tests of what writes them know that they are read
// the quick way.
func ReadsEvenRecords(dst, src []byte) bool { return unzstdEven(dst, src) }
