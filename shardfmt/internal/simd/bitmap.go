package simd

import (
	"encoding/binary"
	"math/bits"
)

// BitsOfBytes packs one bit per byte of src into dst, least significant bit first: 1 for a byte other than
// zero. Unused bits of the last byte of dst are zero. It returns the number of ones.
func BitsOfBytes(dst, src []byte) (ones int) {
	for len(src) >= 8 {
		x := binary.LittleEndian.Uint64(src)
		x = ((x & 0x7f7f7f7f7f7f7f7f) + 0x7f7f7f7f7f7f7f7f) | x // high bit of each byte: not zero
		b := byte(x >> 7 & 0x0101010101010101 * 0x0102040810204080 >> 56)
		dst[0] = b
		ones += bits.OnesCount8(b)
		dst, src = dst[1:], src[8:]
	}
	if len(src) == 0 {
		return ones
	}
	var b byte
	for i, v := range src {
		if v != 0 {
			b |= 1 << i
		}
	}
	dst[0] = b
	return ones + bits.OnesCount8(b)
}

// BytesOfBits writes a byte for each of len(dst) bits of src: 1 for one that is set.
func BytesOfBits(dst, src []byte) {
	for i := range dst {
		dst[i] = src[i/8] >> (i % 8) & 1
	}
}

// Ones counts the ones in the first n bits of bitmap.
func Ones(bitmap []byte, n int) (ones int) {
	full := bitmap[:n/8]
	for ; len(full) >= 8; full = full[8:] {
		ones += bits.OnesCount64(binary.LittleEndian.Uint64(full))
	}
	for _, b := range full {
		ones += bits.OnesCount8(b)
	}
	if rest := n % 8; rest > 0 {
		ones += bits.OnesCount8(bitmap[n/8] & (1<<rest - 1))
	}
	return ones
}

// SetBits sets the first n bits of bitmap and clears the rest of its last byte.
func SetBits(bitmap []byte, n int) {
	full := bitmap[:n/8]
	for i := range full {
		full[i] = 0xff
	}
	if rest := n % 8; rest > 0 {
		bitmap[n/8] = 1<<rest - 1
	}
}

// InvertBits turns the first n bits of bitmap around and clears the rest of its last byte.
func InvertBits(bitmap []byte, n int) {
	full := bitmap[:n/8]
	for ; len(full) >= 8; full = full[8:] {
		binary.LittleEndian.PutUint64(full, ^binary.LittleEndian.Uint64(full))
	}
	for i := range full {
		full[i] = ^full[i]
	}
	if rest := n % 8; rest > 0 {
		bitmap[n/8] = ^bitmap[n/8] & (1<<rest - 1)
	}
}
