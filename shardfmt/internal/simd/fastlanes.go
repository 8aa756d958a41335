package simd

import "unsafe"

//go:generate go run ./gen
//go:generate go run -C avo . -out ../avx2_amd64.s -stubs ../avx2_amd64.go -pkg simd
//go:generate go run -C avo . -compact -out ../compact_amd64.s -stubs ../compact_amd64.go -pkg simd
//go:generate go run -C avo . -avx512 -out ../avx512_amd64.s -stubs ../avx512_amd64.go -pkg simd

// AppendPacked appends vals to dst as FastLanes chunks of width bits (1..B), each value less ref; only the
// low width bits of a difference are kept. The last chunk is filled up with zeros before ref is taken off,
// as the reference does (docs/format/blocks.md).
func AppendPacked[U Unsigned](dst []byte, vals []U, width int, ref U) []byte {
	at, step := len(dst), ChunkBytes(width)
	dst = append(dst, make([]byte, PackedBytes(len(vals), width))...)
	for ; len(vals) >= ChunkLen; vals = vals[ChunkLen:] {
		of[U]().pack(dst[at:at+step], (*[ChunkLen]U)(vals), width, ref)
		at += step
	}
	if len(vals) > 0 {
		var last [ChunkLen]U
		copy(last[:], vals)
		pack(dst[at:], &last, width, ref) // by its name: what a function value is given is allocated
	}
	return dst
}

// Unpack fills dst with the values of packed, which holds PackedBytes(len(dst), width) bytes, and adds ref
// to each, modulo the width of U. width is 1..B.
//
// A chunk's rows lie 128 values apart. Where a row is a vector, it is written where it belongs: into pages that are there, since a
// page that is new interrupts each of many rows, which costs a quarter of all there. Where a row is written by words, those of 64 bits
// go by the buffer.
func Unpack[U Unsigned](dst []U, packed []byte, width int, ref U, room *Room) {
	step, k := ChunkBytes(width), of[U]()
	if k.vectors || SizeOf[U]() < 8 {
		for ; len(dst) >= ChunkLen; dst, packed = dst[ChunkLen:], packed[step:] {
			chunk := (*[ChunkLen]U)(dst)
			chunk[0], chunk[ChunkLen/2], chunk[ChunkLen-1] = 0, 0, 0 // of the pages that it may lie in
			k.unpack(chunk, packed[:step], width, ref)
		}
	}
	for len(dst) > 0 {
		n := copy(dst, UnpackChunk(packed[:step], width, ref, room)[:])
		dst, packed = dst[n:], packed[step:]
	}
}

// UnpackChunk unpacks one chunk into the buffer, for a caller that turns its values into something else.
func UnpackChunk[U Unsigned](chunk []byte, width int, ref U, room *Room) *[ChunkLen]U {
	dst := (*[ChunkLen]U)(unsafe.Pointer(room))
	of[U]().unpack(dst, chunk, width, ref)
	return dst
}

// Room is space for one unpacked chunk, kept by the caller so that a kernel needn't clear or allocate it.
type Room [ChunkLen]uint64
