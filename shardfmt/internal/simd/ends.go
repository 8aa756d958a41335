package simd

import (
	"encoding/binary"
	"math/bits"
)

// Ends gives the first and the last eight bytes of the value from start to end in data; of a shorter one all of it, and 0. With its length they
// tell a value of up to EndsTell bytes from all others.
func Ends(data []byte, start, end int) (head, tail uint64) {
	if end-start >= 8 {
		return binary.LittleEndian.Uint64(data[start:]), binary.LittleEndian.Uint64(data[end-8:])
	}
	if start+8 <= len(data) {
		return binary.LittleEndian.Uint64(data[start:]) & (1<<(8*(end-start)) - 1), 0
	}
	for i, b := range data[start:end] {
		head |= uint64(b) << (8 * i)
	}
	return head, 0
}

// EndsTell is how many bytes a value may have that its ends tell wholly.
const EndsTell = 16

// HashEnds spreads the ends of a value of n bytes over 64 bits, of which the upper ones are the good ones (Fibonacci hashing).
func HashEnds(head, tail uint64, n int) uint64 {
	return ((head ^ bits.RotateLeft64(tail, 18)) + uint64(n)) * 0x9E3779B97F4A7C15
}
