package encode

import (
	"encoding/binary"

	"github.com/klauspost/compress/huff0"
)

// The library's Huffman coder gives bytes up of which none is more than a 128th of all: two hundred values that occur equally often. Their
// codes of seven and eight bits save a twenty-fifth all the same. So where it gives up, its table is requested, and the streams are written here.

// evenGain is the share of the literals, as a divisor, that codes of theirs must save.
const evenGain = 64

// appendEvenCodes appends the table and the four streams of literals (RFC 8878 §4.2), and reports whether that saves enough.
func (e *Encoder) appendEvenCodes(dst, literals []byte) ([]byte, bool) {
	if len(literals) < 4*huffmanSegment {
		return dst, false
	}
	var counts [256]uint32
	for _, b := range literals {
		counts[b]++
	}
	e.huffman.Reuse = huff0.ReusePolicyNone
	if err := e.huffman.BuildCTable(&counts); err != nil {
		return dst, false
	}
	most := len(literals) - len(literals)/evenGain
	if size := e.huffman.EstimateSize(&counts); size < 0 || size > most {
		return dst, false
	}
	start := len(dst)
	dst, err := e.huffman.AppendTable(dst)
	if err != nil {
		return dst[:start], false
	}
	codes := e.evenCodes(&counts)
	jump := len(dst)
	dst = append(dst, make([]byte, 6)...)
	segment := (len(literals) + 3) / 4
	for i := range 4 {
		part := literals[:min(segment, len(literals))]
		literals = literals[len(part):]
		at := len(dst)
		w := bitWriter{dst: dst}
		for j := len(part) - 1; j >= 0; j-- {
			c := codes[part[j]]
			w.add(uint32(c.value), c.bits)
		}
		dst = w.close()
		if i < 3 {
			if len(dst)-at > 1<<16-1 {
				return dst[:start], false
			}
			binary.LittleEndian.PutUint16(dst[jump+2*i:], uint16(len(dst)-at))
		}
	}
	return dst, len(dst)-start <= most
}

// huffmanSegment is the least length of a stream of which four are worth a table.
const huffmanSegment = 64

// huffmanCode is the code of a byte.
type huffmanCode struct {
	value uint16
	bits  uint8
}

// evenCodes are the codes of the table that the library has built: the longest ones come first, equally long ones in the order of their bytes.
func (e *Encoder) evenCodes(counts *[256]uint32) (codes [256]huffmanCode) {
	const longest = 11
	var lengths [longest + 2]uint16
	for b, n := range counts {
		if n == 0 {
			continue
		}
		var one [256]uint32
		one[b] = 8 // eight of them take as many bytes as one takes bits
		codes[b].bits = uint8(e.huffman.EstimateSize(&one))
		lengths[codes[b].bits]++
	}
	var next [longest + 1]uint16
	value := uint16(0)
	for n := longest; n > 0; n-- {
		next[n] = value
		value = (value + lengths[n]) >> 1
	}
	for b := range codes {
		if n := codes[b].bits; n > 0 {
			codes[b].value = next[n]
			next[n]++
		}
	}
	return codes
}
