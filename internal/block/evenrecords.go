package block

import "encoding/binary"

// Frames of even records (internal/encode/evenrecords.go) are frames of Zstd in which every record of 16 bytes is a few literals and the rest of the
// record before. A general decoder carries out one sequence after the other; here the rest of all records of a block is known before the first of
// them, and each takes two words to write. What is no such frame, or a damaged one, is left to the general decoder.

const (
	evenMagic      = 0xFD2FB528
	evenDescriptor = 0xA0 // one segment, size u32, no checksum, no dictionary
	evenHeader     = 9
	evenRecord     = 16
	mostEven       = 8
	// evenBlock are the modes of a block's sequences: tables of one symbol each.
	evenModes = 1<<6 | 1<<4 | 1<<2
)

// evenFrame is the state of reading such a frame: what is left of it, and how much of dst is written.
type evenFrame struct {
	dst, src []byte
	at       int
	// opened: the first repeated offset is that of a record.
	opened bool
}

// unzstdEven fills dst, exactly, from a frame of even records; false, with dst in any state, if src is anything else.
func unzstdEven(dst, src []byte) bool {
	if len(src) < evenHeader || binary.LittleEndian.Uint32(src) != evenMagic || src[4] != evenDescriptor ||
		uint64(binary.LittleEndian.Uint32(src[5:])) != uint64(len(dst)) {
		return false
	}
	f := evenFrame{dst: dst, src: src[evenHeader:]}
	for {
		if len(f.src) < 3 {
			return false
		}
		h := uint32(f.src[0]) | uint32(f.src[1])<<8 | uint32(f.src[2])<<16
		size := int(h >> 3)
		if f.src = f.src[3:]; size > len(f.src) || size > zstdBlock {
			return false
		}
		ok := false
		switch h >> 1 & 3 {
		case 0:
			ok = f.raw(f.src[:size])
		case 2:
			ok = f.block(size)
		}
		if !ok {
			return false
		}
		f.src = f.src[size:]
		if h&1 == 1 {
			return len(f.src) == 0 && f.at == len(dst)
		}
	}
}

// raw appends bytes as they are.
func (f *evenFrame) raw(b []byte) bool {
	if len(b) > len(f.dst)-f.at {
		return false
	}
	f.at += copy(f.dst[f.at:], b)
	return true
}

// block appends what a compressed block of so many bytes stands for.
func (f *evenFrame) block(size int) bool {
	b := f.src[:size]
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
	from, each := f.src[3:], 0
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

// sequences reads the number of sequences of a block.
func sequences(b []byte) (n int, rest []byte, ok bool) {
	switch {
	case b[0] < 128:
		return int(b[0]), b[1:], true
	case b[0] < 255 && len(b) > 1:
		return int(b[0]-128)<<8 | int(b[1]), b[2:], true
	case b[0] == 255 && len(b) > 2:
		return 0x7F00 + int(b[1]) + int(b[2])<<8, b[3:], true
	}
	return 0, nil, false
}

// even reads the tables of n sequences: all alike, with a record's distance and length. It gives the number of literals of each.
func (f *evenFrame) even(n int, b []byte) (literals int, ok bool) {
	if len(b) != 5 || b[0] != evenModes || f.at < evenRecord {
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
