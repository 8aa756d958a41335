package encode

import (
	"encoding/binary"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"

	"github.com/shardcat/shardcat/internal/view"
)

// appendTree carries out a plan: it appends a sub-block. The layouts (all numbers little-endian, T the
// element, padded to 8 bytes what does not state otherwise):
//
//	Plain, SingleValue   code, values or the value; nothing padded
//	FLBitPack            code, width u8; packed chunks
//	FFOR                 code, reference T, width u8; packed chunks
//	FOR, Delta           code, reference or first value T; sub-block
//	Truncate, ZigZag     code, 1 if a sub-block follows u8; sub-block or raw values
//	RunLength            code, size of the values u32, number of runs u32, values and lengths are
//	                     sub-blocks 2×u8; values, lengths
//	Sparse               code, number of values u32, size of the positions u32, positions and values are
//	                     sub-blocks 2×u8; positions, values
//	BlockDictionary      code, size of the codes u32, number of entries u32, entries are a sub-block u8;
//	                     codes, not padded, entries
//	ALP                  code, size of the integers u32, number of exceptions u16, exponent u8, factor u8;
//	                     integers, not padded, positions u32, values T
//	ALP-RD               code, sizes of left and right parts 2×u32, number of exceptions u16, width of the
//	                     right parts u8, number of entries u8; entries u16, left, right, positions u32,
//	                     left parts u16; none padded
//	Zstd, LZ4            code; payload
func appendTree[U word](dst []byte, vals []U, p *plan) []byte {
	switch p.code {
	case block.Plain:
		return simd.Append(appendCode(dst, p.code), vals)
	case block.SingleValue:
		return simd.Append(appendCode(dst, p.code), vals[:1])
	case block.FLBitPack:
		dst = append(appendCode(dst, p.code), byte(p.width), 0, 0, 0, 0, 0)
		return simd.AppendPacked(dst, vals, p.width, 0)
	case block.FusedFrameOfReference:
		return appendFFOR(dst, vals, p)
	case block.FrameOfReference, block.Delta:
		dst, at := appendHeader(dst, p.code, sizeOf[U]())
		putWord(at, U(p.ref))
		return appendNested[U](dst, p, 0)
	case block.TruncateU8, block.TruncateU16, block.TruncateU32, block.TruncateU64, block.ZigZag:
		return appendNarrow[U](dst, p)
	case block.RunLength, block.Sparse, block.BlockDictionary:
		return appendTwo[U](dst, p)
	case block.Alp:
		return appendAlp[U](dst, p)
	case block.AlpRd:
		return appendAlpRd[U](dst, p)
	}
	dst, _ = appendHeader(dst, p.code, 0)
	return append(dst, p.payload...)
}

// appendHeader appends a code and own zero bytes of metadata, padded, and gives the metadata to fill in.
func appendHeader(dst []byte, code block.Code, own int) (_, metadata []byte) {
	var zero [32]byte
	dst = appendCode(dst, code)
	at := len(dst)
	dst = append(dst, zero[:max(headerOf(own), 8)-2]...)
	return dst, dst[at:]
}

func appendCode(dst []byte, c block.Code) []byte {
	return binary.LittleEndian.AppendUint16(dst, uint16(c))
}

// putWord writes a word at the start of b.
func putWord[U word](b []byte, v U) {
	for i := range sizeOf[U]() {
		b[i] = byte(uint64(v) >> (8 * i))
	}
}

// pad appends zeros until dst is a multiple of eight bytes past start.
func pad(dst []byte, start int) []byte {
	for (len(dst)-start)%8 != 0 {
		dst = append(dst, 0)
	}
	return dst
}

func flag(kid *plan) byte {
	if kid == nil {
		return 0
	}
	return 1
}

// appendNested appends nested stream i of p, whose words are U, as its plan has it or raw.
func appendNested[U word](dst []byte, p *plan, i int) []byte {
	vals := stream[U](p, i)
	if p.kids[i] == nil {
		return simd.Append(dst, vals)
	}
	return appendTree(dst, vals, p.kids[i])
}

func appendFFOR[U word](dst []byte, vals []U, p *plan) []byte {
	dst, at := appendHeader(dst, p.code, sizeOf[U]()+1)
	putWord(at, U(p.ref))
	at[sizeOf[U]()] = byte(p.width)
	return simd.AppendPacked(dst, vals, p.width, U(p.ref))
}

func appendNarrow[U word](dst []byte, p *plan) []byte {
	dst, at := appendHeader(dst, p.code, 1)
	at[0] = flag(p.kids[0])
	switch p.code {
	case block.TruncateU8:
		return appendNested[uint8](dst, p, 0)
	case block.TruncateU16:
		return appendNested[uint16](dst, p, 0)
	case block.TruncateU32:
		return appendNested[uint32](dst, p, 0)
	case block.TruncateU64:
		return appendNested[uint64](dst, p, 0)
	}
	return appendNested[U](dst, p, 0)
}

// appendTwo is for the encodings with two streams, one of them of u32: RunLength (values, lengths), Sparse
// (positions, values) and BlockDictionary (codes, entries).
func appendTwo[U word](dst []byte, p *plan) []byte {
	start := len(dst)
	dst, _ = appendHeader(dst, p.code, 10)
	if p.code == block.RunLength {
		dst = appendNested[U](dst, p, 0)
	} else {
		dst = appendNested[uint32](dst, p, 0)
	}
	at := dst[start+2:]
	first, firstLen := uint32(len(dst)-start-16), uint32(len(p.in[0])/4)
	switch p.code {
	case block.RunLength:
		binary.LittleEndian.PutUint32(at, first)
		binary.LittleEndian.PutUint32(at[4:], uint32(max(p.runs, len(p.in[1])/4)))
		at[8], at[9] = flag(p.kids[0]), flag(p.kids[1])
		return appendNested[uint32](pad(dst, start), p, 1)
	case block.Sparse:
		binary.LittleEndian.PutUint32(at, firstLen)
		binary.LittleEndian.PutUint32(at[4:], first)
		at[8], at[9] = flag(p.kids[0]), flag(p.kids[1])
		return appendNested[U](pad(dst, start), p, 1)
	}
	binary.LittleEndian.PutUint32(at, first)
	binary.LittleEndian.PutUint32(at[4:], uint32(len(p.in[1])/sizeOf[U]()))
	at[8] = flag(p.kids[1])
	return appendNested[U](dst, p, 1)
}

func appendAlp[U word](dst []byte, p *plan) []byte {
	start := len(dst)
	dst, _ = appendHeader(dst, p.code, 8)
	dst = appendNested[U](dst, p, 0)
	at := dst[start+2:]
	binary.LittleEndian.PutUint32(at, uint32(len(dst)-start-16))
	binary.LittleEndian.PutUint16(at[4:], uint16(len(p.where)))
	at[6], at[7] = p.exponent, p.factor
	dst = simd.Append(dst, p.where)
	return simd.Append(dst, castBytes[U](p.exceptions))
}

func appendAlpRd[U word](dst []byte, p *plan) []byte {
	start := len(dst)
	dst, _ = appendHeader(dst, p.code, 12)
	dst = simd.Append(dst, p.lefts)
	from := len(dst)
	dst = appendNested[uint16](dst, p, 0)
	middle := len(dst)
	dst = appendNested[U](dst, p, 1)
	at := dst[start+2:]
	binary.LittleEndian.PutUint32(at, uint32(middle-from))
	binary.LittleEndian.PutUint32(at[4:], uint32(len(dst)-middle))
	binary.LittleEndian.PutUint16(at[8:], uint16(len(p.where)))
	at[10], at[11] = p.factor, byte(len(p.lefts))
	dst = simd.Append(dst, p.where)
	return simd.Append(dst, castBytes[uint16](p.exceptions))
}

// castBytes views the memory of words as those words.
func castBytes[U word](b []byte) []U {
	return view.Of[U](b, len(b)/sizeOf[U]())
}
