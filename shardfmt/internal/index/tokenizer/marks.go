package tokenizer

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// AppendMarks appends where the words of a text of ASCII start and end: start, end, start, end, …, uncut. It is false for any other text, and
// for one that 32 bits don't count.
//
// 64 bytes at a time become 64 bits, of which one is set where a byte belongs to a word; words start and end where a bit differs from the
// one before.
func AppendMarks(dst []uint32, text []byte) (_ []uint32, ok bool) {
	if uint64(len(text)) > math.MaxUint32 {
		return dst, false
	}
	before := uint64(0) // the last bit
	for at := 0; at < len(text); at += 64 {
		words, ascii := wordBits(text[at:min(at+64, len(text))])
		if !ascii {
			return dst, false
		}
		borders := words ^ (words<<1 | before)
		before = words >> 63
		for ; borders != 0; borders &= borders - 1 {
			dst = append(dst, uint32(at+bits.TrailingZeros64(borders)))
		}
	}
	if before != 0 { // the last of whole 64 bytes
		dst = append(dst, uint32(len(text)))
	}
	return dst, true
}

// wordBits has a bit for each byte of a text of up to 64 that belongs to a word. ascii is false if the text has a byte of 0x80 or more.
func wordBits(text []byte) (words uint64, ascii bool) {
	const high = 0x8080808080808080
	seen, shift := uint64(0), 0
	for ; len(text) >= 8; text = text[8:] {
		x := binary.LittleEndian.Uint64(text)
		seen |= x
		words |= wordBits8(x) << shift
		shift += 8
	}
	for _, c := range text {
		seen |= uint64(c)
		if asciiWord[c] {
			words |= 1 << shift
		}
		shift++
	}
	return words, seen&high == 0
}

// wordBits8 is wordBits for eight bytes, the first of which is the lowest. None of them is 0x80 or more.
func wordBits8(x uint64) uint64 {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	lower := x | 0x20*ones // no byte but an upper-case letter becomes a lower-case one
	letter := (lower + (0x80-'a')*ones) &^ (lower + (0x80-'z'-1)*ones)
	digit := (x + (0x80-'0')*ones) &^ (x + (0x80-'9'-1)*ones)
	in := ((letter | digit) & high) >> 7
	return in * 0x0102040810204080 >> 56 // gathers bit 8i at bit 56+i
}

// IsAddress reports whether the first four words of some marks of a text are an IPv4 address, as the tokenizers Log and IPv4 have it: of one
// to three digits each, 255 at most, with a point between two. Words end where letters and digits do, so none touches the address.
func IsAddress(text []byte, marks []uint32) bool {
	if len(marks) < 8 {
		return false
	}
	for k := 0; k < 8; k += 2 {
		start, end := marks[k], marks[k+1]
		if end-start > 3 || k < 6 && (marks[k+2] != end+1 || text[end] != '.') {
			return false
		}
		n := 0
		for _, c := range text[start:end] {
			if !isDigit(c) {
				return false
			}
			n = 10*n + int(c-'0')
		}
		if n > 255 {
			return false
		}
	}
	return true
}
