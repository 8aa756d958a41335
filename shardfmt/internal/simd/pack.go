package simd

import (
	"encoding/binary"
	"unsafe"
)

// Packing a chunk, 64 bits at a time. A row is LANES words of B bits: 128 bytes whatever B is, and contiguous
// in the values as in the packed words. So a row is sixteen uint64, each of 64/B words side by side, and one
// loop serves all widths: shift the words of a row into place, keep what crosses the border of a word for the
// next row of words. Masks keep neighbours apart.

// rowWords is the uint64 of a row.
const rowWords = 16

// spread repeats a B-bit pattern over 64 bits.
func spread(pattern uint64, bits int) uint64 {
	for ; bits < 64; bits *= 2 {
		pattern |= pattern << bits
	}
	return pattern
}

// lowBits is the number with n ones, n in 0..64.
func lowBits(n int) uint64 { return uint64(1)<<n - 1 }

// pack packs a chunk: the low width bits of each value minus ref. width is 1..B.
func pack[U Unsigned](chunk []byte, src *[ChunkLen]U, width int, ref U) {
	if !littleEndian {
		packPortable(chunk, src, width, ref)
		return
	}
	bits := 8 * SizeOf[U]()
	words := unsafe.Slice((*uint64)(unsafe.Pointer(src)), ChunkLen*bits/64)
	keep := spread(lowBits(width), bits)
	var acc, row [rowWords]uint64
	at, shift := 0, 0
	for r := range bits {
		from := (laneOrder[r/8]*16 + r%8*128) * bits / 64
		takeRow(&row, (*[rowWords]uint64)(words[from:]), bits, keep, uint64(ref))
		low := spread(lowBits(bits-shift), bits)
		for i, x := range row {
			acc[i] |= x & low << shift
		}
		if shift += width; shift < bits {
			continue
		}
		out := chunk[at : at+8*rowWords]
		for i, x := range acc {
			binary.LittleEndian.PutUint64(out[8*i:], x)
		}
		at += 8 * rowWords
		shift -= bits
		rest := spread(lowBits(shift), bits)
		for i, x := range row {
			acc[i] = x >> (width - shift) & rest
		}
	}
}

// takeRow loads a row, takes ref off every word and keeps the bits of keep.
func takeRow(row, from *[rowWords]uint64, bits int, keep, ref uint64) {
	if ref == 0 {
		for i, x := range from {
			row[i] = x & keep
		}
		return
	}
	if bits == 64 {
		for i, x := range from {
			row[i] = (x - ref) & keep
		}
		return
	}
	// Subtraction without a borrow between words: each word's top bit is set before and corrected after.
	top, ref := spread(1<<(bits-1), bits), spread(ref, bits)
	for i, x := range from {
		row[i] = ((x | top) - (ref &^ top) ^ (x^^ref)&top) & keep
	}
}
