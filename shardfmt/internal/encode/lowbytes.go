package encode

import (
	"encoding/binary"
	"errors"

	"github.com/klauspost/compress/huff0"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
)

// Codes of dictionaries are words of four bytes of which only the lowest states anything. Zstd's encoders look for longer
// matches and make more of them than the bits that the codes would be packed in. planLowBytes writes a frame (RFC 8878) of
// its own, in which every word is one literal, its lowest byte, and one match of the others with those of the word before.
// All sequences are the same, take no bits by that, and the rest are the Huffman codes of the lowest bytes.
//
//	magic u32, descriptor A0 (one segment, size u32), size of the text u32
//	block 0: the first word and the lowest byte of the second as raw literals; one sequence, whose match has the
//	         distance of a word: from here on that is the first of the repeated offsets
//	block …: lowest bytes, Huffman-coded; as many sequences, tables of one symbol each: literals 1, offset the
//	         first repeated one, match a word less one

const (
	zstdMagic = 0xFD2FB528
	// zstdBlock is the most bytes of text that a block of a frame stands for.
	zstdBlock = 128 << 10
	// leastLowBytes are the fewest words worth a frame.
	leastLowBytes = 1024
	// lowBytesGain is the share of what else would be stored, as a divisor, that a frame must save: packed words are
	// read far quicker, and one by one.
	lowBytesGain = 50
	// compressedBlock is the type of a block, in the place it has in the header.
	compressedBlock = 2 << 1
	// oneSymbolTables: the three tables of the sequences have one symbol each.
	oneSymbolTables = 1<<6 | 1<<4 | 1<<2
	minMatch        = 3
)

// planLowBytes plans words below 256; nil if the profile has no Zstd, or Huffman codes don't help.
func planLowBytes[U word](e *Encoder, vals []U, s *stats[U], k kind, sc scope) *plan {
	if k == float || s.width > 8 || sizeOf[U]() < 4 || s.n < leastLowBytes || e.rules.general != block.Zstd ||
		sc.level >= e.rules.depth {
		return nil
	}
	payload := e.lowBytesFrame(lowBytes(e, vals), sizeOf[U]())
	if payload == nil {
		return nil
	}
	p := e.newPlan(block.Zstd, headerOf(0)+len(payload))
	p.payload = payload
	return p
}

func lowBytes[U word](e *Encoder, vals []U) []byte {
	low := take[uint8](&e.arena, len(vals))
	for i, v := range vals {
		low[i] = byte(v)
	}
	return low
}

// lowBytesFrame is the frame of words of size bytes, of which low are the lowest and the others zero; nil if they have no
// Huffman codes that help.
func (e *Encoder) lowBytesFrame(low []byte, size int) []byte {
	dst := take[uint8](&e.arena, len(low)+len(low)/8+1024)[:0]
	dst = appendFrameHeader(dst, len(low)*size)
	dst = appendFirstWords(dst, low, size)
	low = low[2:]
	for blocks := (len(low)*size + zstdBlock - 1) / zstdBlock; blocks > 0; blocks-- {
		part := low[:len(low)/blocks]
		low = low[len(part):]
		at := len(dst)
		dst = append(dst, 0, 0, 0)
		if dst = e.appendLiterals(dst, part); dst == nil {
			return nil
		}
		dst = appendAlikeSequences(dst, len(part), 1, 0, size-1, 1)
		putBlockHeader(dst[at:], len(dst)-at-3, blocks == 1)
	}
	return dst
}

// padFrame appends empty raw blocks to a frame of lowBytesFrame until its size is a multiple of eight.
func padFrame(frame []byte) []byte {
	if len(frame)%8 == 0 {
		return frame
	}
	at := 9
	for frame[at]&1 == 0 {
		at += 3 + int(uint32(frame[at])|uint32(frame[at+1])<<8|uint32(frame[at+2])<<16)>>3
	}
	frame[at] &^= 1
	for len(frame)%8 != 0 {
		frame = append(frame, 0, 0, 0)
	}
	frame[len(frame)-3] |= 1
	return frame
}

// appendFrameHeader appends the header of a frame of a text of so many bytes: one segment, its size, no checksum, no dictionary.
func appendFrameHeader(dst []byte, size int) []byte {
	dst = append(binary.LittleEndian.AppendUint32(dst, zstdMagic), 0xA0)
	return binary.LittleEndian.AppendUint32(dst, uint32(size))
}

// appendRawBlock appends a block that is stored as it is.
func appendRawBlock(dst, text []byte, last bool) []byte {
	at := len(dst)
	dst = append(append(dst, 0, 0, 0), text...)
	putBlockHeader(dst[at:], len(text), last)
	dst[at] &^= compressedBlock
	return dst
}

func putBlockHeader(b []byte, size int, last bool) {
	h := uint32(size)<<3 | compressedBlock
	if last {
		h |= 1
	}
	b[0], b[1], b[2] = byte(h), byte(h>>8), byte(h>>16)
}

// appendFirstWords appends the block that stands for the first two words.
func appendFirstWords(dst, low []byte, size int) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, byte(size+1)<<3, low[0])
	dst = append(dst, make([]byte, size-1)...)
	offset := byte(size + 3) // as a number of a sequence: 7 or 11, whose upper bit is the symbol
	symbol := byte(2)
	if size == 8 {
		symbol = 3
	}
	dst = append(dst, low[1], 1, oneSymbolTables, byte(size+1), symbol, byte(size-1-minMatch))
	dst = append(dst, 1<<symbol|offset&(1<<symbol-1)) // the lower bits, behind the bit that ends the stream
	putBlockHeader(dst[at:], len(dst)-at-3, false)
	return dst
}

// appendLiterals appends the literals section; nil if Huffman codes don't help.
func (e *Encoder) appendLiterals(dst, literals []byte) []byte {
	n := uint64(len(literals))
	e.huffman.Reuse = huff0.ReusePolicyNone
	out, _, err := huff0.Compress4X(literals, &e.huffman)
	switch {
	case errors.Is(err, huff0.ErrUseRLE):
		h := uint32(n)<<4 | 3<<2 | 1
		return append(dst, byte(h), byte(h>>8), byte(h>>16), literals[0])
	case err != nil:
		even, ok := e.appendEvenCodes(take[uint8](&e.arena, len(literals)+1024)[:0], literals)
		if !ok {
			return nil
		}
		out = even
	}
	format, bits, width := uint64(1), 10, 3 // four streams, sizes of so many bits, bytes in all
	switch {
	case n >= 1<<14:
		format, bits, width = 3, 18, 5
	case n >= 1<<10:
		format, bits, width = 2, 14, 4
	}
	h := 2 | format<<2 | n<<4 | uint64(len(out))<<(4+bits)
	for range width {
		dst = append(dst, byte(h))
		h >>= 8
	}
	return append(dst, out...)
}

// appendAlikeSequences appends the section of n sequences that are all alike: their literals, the symbol of their offset, their match, and the stream
// of their bits.
func appendAlikeSequences(dst []byte, n, literals int, symbol uint8, match int, stream ...byte) []byte {
	dst = append(appendCount(dst, n), oneSymbolTables, byte(literals), symbol, byte(match-minMatch))
	return append(dst, stream...)
}

// appendCount appends the number of sequences.
func appendCount(dst []byte, n int) []byte {
	switch {
	case n < 128:
		return append(dst, byte(n))
	case n < 0x7F00:
		return append(dst, byte(n>>8)+128, byte(n))
	}
	return append(dst, 255, byte(n-0x7F00), byte((n-0x7F00)>>8))
}
