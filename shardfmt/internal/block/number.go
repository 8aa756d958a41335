package block

import (
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// Number is an element type of a numeric block.
type Number = simd.Number

// codeSize is the size of the encoding code at the start of a sub-block.
const codeSize = 2

// DecodeNumbers decodes the value sub-block sub into dst: exactly len(dst) values, the count that the block
// map gives. T is the element type of the block (docs/format/blocks.md); slots of nulls hold what was stored,
// usually 0. Offsets of errors are relative to sub. Nothing is allocated once s has grown to its size.
func DecodeNumbers[T Number](dst []T, sub []byte, s *Scratch) error {
	k := kindOf[T]()
	switch simd.SizeOf[T]() {
	case 1:
		return decode(simd.Cast[uint8](dst), sub, k, s)
	case 2:
		return decode(simd.Cast[uint16](dst), sub, k, s)
	case 4:
		return decode(simd.Cast[uint32](dst), sub, k, s)
	}
	return decode(simd.Cast[uint64](dst), sub, k, s)
}

// kindOf is what the bits of a T mean.
func kindOf[T Number]() kind {
	half, zero := T(1)/2, T(0) // 1/2 is 0 for integers
	switch {
	case half != 0:
		return float
	case zero-1 < 0:
		return signed
	}
	return unsigned
}

// codeOf reads the encoding of a sub-block that must be fit for numbers of kind k and size bytes.
func codeOf(sub []byte, k kind, size int) (Code, error) {
	if len(sub) < codeSize {
		return 0, corrupt.At(0, "sub-block of %d bytes has no encoding code", len(sub))
	}
	c := Code(u16(sub, 0))
	if !c.known() {
		return 0, corrupt.Unsupported(0, "encoding code %d", uint16(c))
	}
	if !c.carries(k, size) {
		return 0, corrupt.At(0, "encoding %v does not apply to numbers of type %v", c, elemOf(k, size))
	}
	return c, nil
}

// decode decodes sub into dst. U only carries the bits; k reports what they mean.
func decode[U simd.Unsigned](dst []U, sub []byte, k kind, s *Scratch) error {
	code, err := codeOf(sub, k, simd.SizeOf[U]())
	if err != nil {
		return err
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	switch code {
	case Plain:
		return decodePlain(dst, sub)
	case SingleValue:
		return decodeSingleValue(dst, sub)
	case FLBitPack, FusedFrameOfReference:
		return decodePacked(dst, sub, code, s)
	case FrameOfReference:
		return decodeFOR(dst, sub, s)
	case Delta:
		return decodeDelta(dst, sub, k, s)
	case RunLength:
		return decodeRuns(dst, sub, k, s)
	case TruncateU8, TruncateU16, TruncateU32, TruncateU64:
		return decodeTruncate(dst, sub, code, s)
	case ZigZag:
		return decodeZigZag(dst, sub, s)
	case Alp:
		return decodeAlp(dst, sub, s)
	case AlpRd:
		return decodeAlpRd(dst, sub, s)
	case BlockDictionary:
		return decodeDictionary(dst, sub, k, s)
	case Sparse:
		return decodeSparse(dst, sub, k, s)
	}
	return decompressNumbers(dst, sub, code, s) // Lz4, Zstd
}

// decodePlain reads an array of exactly len(dst) numbers.
func decodePlain[U simd.Unsigned](dst []U, sub []byte) error {
	size := simd.SizeOf[U]()
	if len(sub)-codeSize != len(dst)*size {
		return corrupt.At(0, "Plain: %d bytes for %d values of %d", len(sub)-codeSize, len(dst), size)
	}
	simd.Load(dst, sub[codeSize:])
	return nil
}

// decodeSingleValue repeats one number.
func decodeSingleValue[U simd.Unsigned](dst []U, sub []byte) error {
	v, err := singleValue[U](sub)
	if err != nil {
		return err
	}
	simd.Fill(dst, v)
	return nil
}

// singleValue is the number of a SingleValue sub-block.
func singleValue[U simd.Unsigned](sub []byte) (U, error) {
	if len(sub)-codeSize < simd.SizeOf[U]() {
		return 0, corrupt.At(0, "SingleValue: %d bytes for a value of %d", len(sub)-codeSize, simd.SizeOf[U]())
	}
	return simd.LoadOne[U](sub[codeSize:]), nil
}
