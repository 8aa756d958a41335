package block

import "fmt"

// Code is the encoding of a sub-block, its first two bytes (docs/format/blocks.md).
type Code uint16

// The encodings. There is none beyond Sparse; Named is what may stand before one.
const (
	Plain            Code = 1
	FLBitPack        Code = 2
	FrameOfReference Code = 3
	// FusedFrameOfReference packs the differences itself instead of nesting them.
	FusedFrameOfReference Code = 4
	Delta                 Code = 5
	RunLength             Code = 6
	SingleValue           Code = 7
	TruncateU8            Code = 8
	TruncateU16           Code = 9
	TruncateU32           Code = 10
	TruncateU64           Code = 11
	Alp                   Code = 12
	AlpRd                 Code = 13
	BlockDictionary       Code = 14
	Fsst                  Code = 15
	Zstd                  Code = 16
	Lz4                   Code = 17
	ZigZag                Code = 18
	Sparse                Code = 19
)

var codeNames = [...]string{
	Plain: "Plain", FLBitPack: "FLBitPack", FrameOfReference: "FrameOfReference",
	FusedFrameOfReference: "FusedFrameOfReference", Delta: "Delta", RunLength: "RunLength",
	SingleValue: "SingleValue", TruncateU8: "TruncateU8", TruncateU16: "TruncateU16",
	TruncateU32: "TruncateU32", TruncateU64: "TruncateU64", Alp: "Alp", AlpRd: "AlpRd",
	BlockDictionary: "BlockDictionary", Fsst: "Fsst", Zstd: "Zstd", Lz4: "Lz4", ZigZag: "ZigZag",
	Sparse: "Sparse",
}

// String is the encoding's name as the reference prints it, or "Code(n)".
func (c Code) String() string {
	switch {
	case c.known():
		return codeNames[c]
	case c == Named:
		return "Named"
	}
	return fmt.Sprintf("Code(%d)", uint16(c))
}

// known: the code is one of the nineteen.
func (c Code) known() bool { return c >= Plain && c <= Sparse }

// kind is what a number's bits mean; with the width it makes the element type.
type kind uint8

const (
	unsigned kind = iota
	signed
	float
)

// carries: sub-blocks of numbers of this kind and size (in bytes) may have encoding c
// (the registered sets of docs/format/blocks.md).
func (c Code) carries(k kind, size int) bool {
	switch c {
	case Plain, SingleValue, RunLength, BlockDictionary, Zstd, Lz4, Sparse:
		return true
	case FLBitPack:
		return k == unsigned
	case FrameOfReference, FusedFrameOfReference, Delta:
		return k != float
	case ZigZag:
		return k == signed
	case TruncateU8, TruncateU16, TruncateU32, TruncateU64:
		return k == signed && size > 1 && truncatedSize(c) <= size
	case Alp, AlpRd:
		return k == float
	}
	return false
}

// truncatedSize is the width in bytes of the values that a Truncate encoding stores.
func truncatedSize(c Code) int { return 1 << (c - TruncateU8) }
