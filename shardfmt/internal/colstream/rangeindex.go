package colstream

import (
	"encoding/binary"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// A range index holds the least and the greatest value of every 256 positions of a field, or of a power of two times as many:
//
//	0   u16  version 1                     20  u64  size of the maxima
//	2   u8   basic type                    28  u64  size of the counts, 0 if all are 0
//	3   u8   1 if the blocks have checksums 36  u16  positions per block
//	4   u64  positions covered             38  u16  0
//	12  u64  size of the minima            40  minima, maxima, counts; zeros to a multiple of 64
//
// Each of the three is one block of unsigned bytes: the raw little-endian values. A count is a u16, how many
// of the block's positions are null or NaN; where that is all of them, minimum and maximum mean nothing.
const (
	rangeIndexHeader  = 40
	rangeIndexVersion = 1
	// RangeIndexBlock is how many positions a block of a range index covers at least, as we write it, and WidestRangeIndexBlock how
	// many at most.
	RangeIndexBlock, WidestRangeIndexBlock = 256, 8192
	// maxRangeIndex bounds the decoded size of each array, in bytes: a block of one repeated value may claim
	// any number of them.
	maxRangeIndex = 64 << 20
)

// RangeIndex is the minima and maxima of the blocks of a field.
type RangeIndex struct {
	// Type of the values: a number, DateTime, or FixedSizeBinary for decimals.
	Type schema.Basic
	// Span is the number of positions covered, BlockSize of them in each block.
	Span      uint64
	BlockSize uint64
	// Min and Max hold one little-endian value of Width bytes for each block.
	Min, Max []byte
	Width    int
	// Invalid counts nulls and NaNs of each block; nil if there are none at all.
	Invalid []uint16
}

// Blocks is the number of blocks.
func (x *RangeIndex) Blocks() int { return len(x.Min) / x.Width }

// Range gives the positions of block i.
func (x *RangeIndex) Range(i int) Range {
	start := uint64(i) * x.BlockSize
	return Range{Start: start, End: min(start+x.BlockSize, x.Span)}
}

// Bounds gives minimum and maximum of block i, false if it holds no value that has an order.
func (x *RangeIndex) Bounds(i int) (least, greatest []byte, ok bool) {
	if x.Invalid != nil && uint64(x.Invalid[i]) >= x.Range(i).Len() {
		return nil, nil, false
	}
	return x.Min[i*x.Width : (i+1)*x.Width], x.Max[i*x.Width : (i+1)*x.Width], true
}

// ParseRangeIndex reads a range index of span positions of values of width bytes. strict also refuses bytes
// behind the blocks that are not zero.
func ParseRangeIndex(b []byte, typ schema.Basic, width int, span uint64, strict bool) (*RangeIndex, error) {
	if len(b) < rangeIndexHeader {
		return nil, corrupt.At(0, "range index of %d bytes", len(b))
	}
	le := binary.LittleEndian
	x := &RangeIndex{Type: schema.Basic(b[2]), Span: le.Uint64(b[4:]), BlockSize: uint64(le.Uint16(b[36:])), Width: width}
	switch {
	case le.Uint16(b) != rangeIndexVersion:
		return nil, corrupt.Unsupported(0, "range index of version %d", le.Uint16(b))
	case x.Type != typ:
		return nil, corrupt.At(2, "range index of type %d for a field of type %d", x.Type, typ)
	case b[3] > 1 || le.Uint16(b[38:]) != 0:
		return nil, corrupt.At(3, "range index: reserved bytes are %02x, %04x", b[3], le.Uint16(b[38:]))
	case x.Span != span || x.Span == 0 || x.BlockSize == 0:
		return nil, corrupt.At(4, "range index: %d positions in blocks of %d for a field of %d", x.Span, x.BlockSize, span)
	}
	blocks := (span + x.BlockSize - 1) / x.BlockSize
	if blocks > maxRangeIndex/uint64(max(width, 2)) {
		return nil, corrupt.Unsupported(4, "range index of %d blocks", blocks)
	}
	return x, x.parsePayloads(b, int(blocks), strict)
}

func (x *RangeIndex) parsePayloads(b []byte, blocks int, strict bool) error {
	at := uint64(rangeIndexHeader)
	var arrays [3][]byte
	for i, width := range [...]int{x.Width, x.Width, 2} {
		size := u64(b[12:], i)
		if size > uint64(len(b))-at || size == 0 && i < 2 {
			return corrupt.At(int64(12+8*i), "range index: array of %d bytes in %d", size, len(b))
		}
		if size == 0 {
			continue
		}
		a, err := parseRawBlock(b[at:at+size], blocks*width, b[3] == 1)
		if err != nil {
			return corrupt.Locate(err, "", int64(at))
		}
		arrays[i] = a
		at += size
	}
	x.Min, x.Max = arrays[0], arrays[1]
	if arrays[2] != nil {
		x.Invalid = make([]uint16, blocks)
		for i := range x.Invalid {
			x.Invalid[i] = binary.LittleEndian.Uint16(arrays[2][2*i:])
		}
	}
	if strict {
		return zeros(b, int(at), len(b))
	}
	return nil
}

// parseRawBlock decodes a block of n unsigned bytes.
func parseRawBlock(b []byte, n int, checksum bool) ([]byte, error) {
	f, err := block.ParseFrame(b, checksum)
	if err != nil {
		return nil, err
	}
	out := make([]byte, n)
	if err := block.DecodeNumbers(out, f.Values, new(block.Scratch)); err != nil {
		return nil, corrupt.Locate(err, "", f.ValuesOffset())
	}
	return out, nil
}

// Append appends the range index as a buffer to dst, whose length must be a multiple of 64.
func (x *RangeIndex) Append(dst []byte, o *encode.Options) ([]byte, error) {
	base := len(dst)
	h := make([]byte, rangeIndexHeader)
	le := binary.LittleEndian
	le.PutUint16(h, rangeIndexVersion)
	h[2], h[3] = byte(x.Type), 1
	le.PutUint64(h[4:], x.Span)
	le.PutUint16(h[36:], uint16(x.BlockSize))
	dst = append(dst, h...)
	for i, raw := range [...][]byte{x.Min, x.Max, x.rawInvalid()} {
		if raw == nil {
			continue
		}
		sub, err := encode.Numbers(nil, raw, nil, o)
		if err != nil {
			return nil, err
		}
		start := len(dst)
		dst = block.AppendFrame(dst, nil, sub, true)
		le.PutUint64(dst[base+12+8*i:], uint64(len(dst)-start))
	}
	return padFrom(dst, base, Alignment), nil
}

// rawInvalid gives the counts as bytes, nil if all are 0.
func (x *RangeIndex) rawInvalid() []byte {
	var any uint16
	b := make([]byte, 0, 2*len(x.Invalid))
	for _, n := range x.Invalid {
		any |= n
		b = binary.LittleEndian.AppendUint16(b, n)
	}
	if any == 0 {
		return nil
	}
	return b
}
