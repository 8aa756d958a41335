package filter

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// Eight truths are looked at together, as the bytes of a word.

// wordOf is eight truths from slot i on, the first one lowest.
func wordOf(t []truth, i int) uint64 { return binary.LittleEndian.Uint64(bytesOf(t)[i:]) }

func bytesOf(t []truth) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(t))), len(t))
}

// and joins other to out, which is as long.
func and(out, other []truth) {
	i := 0
	for ; i+8 <= len(out); i += 8 {
		binary.LittleEndian.PutUint64(bytesOf(out)[i:], wordOf(out, i)&wordOf(other, i))
	}
	for ; i < len(out); i++ {
		out[i] &= other[i]
	}
}

// or joins other to out, which is as long.
func or(out, other []truth) {
	i := 0
	for ; i+8 <= len(out); i += 8 {
		binary.LittleEndian.PutUint64(bytesOf(out)[i:], wordOf(out, i)|wordOf(other, i))
	}
	for ; i < len(out); i++ {
		out[i] |= other[i]
	}
}

// not exchanges true and false: the two bits are inverted and change places.
func not(out []truth) {
	for i, t := range out {
		out[i] = (t>>1|t<<1)&isTrue ^ isTrue
	}
}

// trueBits are the second bits of eight truths, which only that of true has set.
const trueBits = 0x02_02_02_02_02_02_02_02

// gather moves the lowest bits of eight bytes, the first one lowest, into the top byte of a product.
const gather = 0x01_02_04_08_10_20_40_80

// Pack sets the bits of rows in a cleared bitmap for which Judge wrote that the expression is true, and tells how many those
// are.
func Pack(bitmap []byte, t []byte) (n int) {
	i := 0
	for ; i+8 <= len(t); i += 8 {
		b := byte(binary.LittleEndian.Uint64(t[i:]) & trueBits >> 1 * gather >> 56)
		bitmap[i/8] = b
		n += bits.OnesCount8(b)
	}
	for ; i < len(t); i++ {
		if truth(t[i]) == isTrue {
			bitmap[i/8] |= 1 << (i % 8)
			n++
		}
	}
	return n
}
