package kernel

import "unsafe"

//go:generate go run ./gen

// AppendPacked appends vals to dst as FastLanes chunks of width bits (1..B), each value less ref; only the
// low width bits of a difference are kept. The last chunk is filled up with zeros before ref is taken off,
// as the reference does (format note 02 §6.5).
func AppendPacked[U Unsigned](dst []byte, vals []U, width int, ref U) []byte {
	for len(vals) > 0 {
		var last [ChunkLen]U
		chunk := &last
		if len(vals) >= ChunkLen {
			chunk = (*[ChunkLen]U)(vals)
			vals = vals[ChunkLen:]
		} else {
			copy(last[:], vals)
			vals = nil
		}
		at := len(dst)
		dst = append(dst, make([]byte, ChunkBytes(width))...)
		pack(dst[at:], chunk, width, ref)
	}
	return dst
}

// Unpack fills dst with the values of packed, which holds PackedBytes(len(dst), width) bytes, and adds ref
// to each, modulo the width of U. width is 1..B. room is where the last, partial chunk is unpacked.
func Unpack[U Unsigned](dst []U, packed []byte, width int, ref U, room *Room) {
	unpack := of[U]().unpack[width]
	if ref != 0 {
		unpack = of[U]().unpackFOR[width]
	}
	step := ChunkBytes(width)
	for ; len(dst) >= ChunkLen; dst, packed = dst[ChunkLen:], packed[step:] {
		unpack((*[ChunkLen]U)(dst), packed[:step], ref)
	}
	if len(dst) > 0 {
		last := roomFor[U](room)
		unpack(last, packed[:step], ref)
		copy(dst, last[:])
	}
}

// Room is space for one unpacked chunk, kept by the caller so that a kernel needn't clear or allocate it.
type Room [ChunkLen]uint64

// roomFor is room seen as a chunk of U.
func roomFor[U Unsigned](room *Room) *[ChunkLen]U {
	return (*[ChunkLen]U)(unsafe.Pointer(room))
}
