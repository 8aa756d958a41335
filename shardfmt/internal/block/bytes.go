package block

import (
	"slices"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// Bytes is a run of byte strings: value i is Data[Offsets[i]:Offsets[i+1]].
type Bytes struct {
	Data []byte
	// Offsets into Data, one more than there are values; empty before the first block. Values of a fixed
	// size have none: value i is Data[i*size : (i+1)*size].
	Offsets []int64
	// Charge, if not nil, is called before memory is taken for bytes of values; its error ends the decoding.
	Charge func(bytes uint64) error
}

// Reset empties b and keeps its memory.
func (b *Bytes) Reset() { b.Data, b.Offsets = b.Data[:0], b.Offsets[:0] }

// Len is the number of values with offsets.
func (b *Bytes) Len() int { return max(len(b.Offsets)-1, 0) }

// DecodeBytes decodes the value sub-block sub and appends its n values to dst. fixed is the size of each
// value in bytes, or 0 for values of any length; with a fixed size only Data grows.
//
// present is the block's presence bitmap (least significant bit first), or nil when all values are present.
// Slots of nulls come out empty, or as fixed zero bytes, except that Plain, Fsst, Lz4 and Zstd give the bytes
// that were stored there, which are normally none. BlockDictionary, whose code 0 is null, too,
// clears present where that is; with present nil, a null code is corrupt.
//
// Offsets of errors are relative to sub. After an error dst is as it was before.
func DecodeBytes(dst *Bytes, sub []byte, n, fixed int, present []byte, s *Scratch) error {
	data, offsets := len(dst.Data), len(dst.Offsets)
	if fixed == 0 && offsets == 0 {
		dst.Offsets = append(dst.Offsets, int64(data))
	}
	if err := decodeBytes(dst, sub, n, fixed, present, s); err != nil {
		dst.Data, dst.Offsets = dst.Data[:data], dst.Offsets[:offsets]
		if offsets > 0 { // a decoder may have overwritten where its values start
			dst.Offsets[offsets-1] = int64(data)
		}
		return err
	}
	return nil
}

func decodeBytes(dst *Bytes, sub []byte, n, fixed int, present []byte, s *Scratch) error {
	code, err := bytesCodeOf(sub)
	if err != nil {
		return err
	}
	switch code {
	case Plain:
		return decodeBytesPlain(dst, sub, n, fixed)
	case SingleValue:
		return decodeBytesSingle(dst, sub, n, fixed, present)
	case Lz4, Zstd:
		return decodeBytesCompressed(dst, sub, code, n, fixed, s)
	case BlockDictionary:
		return decodeBytesDictionary(dst, sub, n, fixed, present, s)
	}
	return decodeBytesFsst(dst, sub, n, fixed, s)
}

// bytesCodeOf reads the encoding of a sub-block of byte strings.
func bytesCodeOf(sub []byte) (Code, error) {
	if len(sub) < codeSize {
		return 0, corrupt.At(0, "sub-block of %d bytes has no encoding code", len(sub))
	}
	c := Code(u16(sub, 0))
	switch {
	case !c.known():
		return 0, corrupt.Unsupported(0, "encoding code %d", uint16(c))
	case c == Plain, c == SingleValue, c == BlockDictionary, c == Fsst, c == Zstd, c == Lz4:
		return c, nil
	}
	return 0, corrupt.At(0, "encoding %v on byte strings", c)
}

// Offset widths: how the lengths of values are kept.
const (
	widthFixed    = 0 // not at all: the type states the size
	widthVariable = 8 // n+1 offsets
)

// checkWidth checks an offset width against the type's value size.
func checkWidth(width byte, fixed int, at int64) error {
	if width != widthFixed && width != widthVariable {
		return corrupt.At(at, "offset width %d", width)
	}
	if (width == widthFixed) != (fixed > 0) {
		return corrupt.At(at, "offset width %d with a value size of %d", width, fixed)
	}
	return nil
}

// Plain of byte strings (docs/format/blocks.md): code u16, offset width u8, offsets (n+1) × u64 if the width
// is 8, bytes to the end.
const plainBytesHeader = 3

func decodeBytesPlain(dst *Bytes, sub []byte, n, fixed int) error {
	if len(sub) < plainBytesHeader {
		return corrupt.At(0, "Plain: sub-block of %d bytes has no offset width", len(sub))
	}
	if err := checkWidth(sub[2], fixed, 2); err != nil {
		return err
	}
	if fixed > 0 {
		data := sub[plainBytesHeader:]
		if len(data)%fixed != 0 || len(data)/fixed != n {
			return corrupt.At(plainBytesHeader, "Plain: %d bytes for %d values of %d", len(data), n, fixed)
		}
		if err := dst.charge(len(data)); err != nil {
			return err
		}
		dst.Data = append(dst.Data, data...)
		return nil
	}
	if (len(sub)-plainBytesHeader)/8 < n+1 {
		return corrupt.At(plainBytesHeader, "Plain: %d bytes for the offsets of %d values", len(sub)-plainBytesHeader, n)
	}
	data := sub[plainBytesHeader+8*(n+1):]
	ends := dst.addOffsets(n)
	simd.Load(ends, sub[plainBytesHeader:])
	end, err := dst.place(ends, int64(len(data)))
	if err != nil {
		return corrupt.Locate(err, "", plainBytesHeader)
	}
	if end != int64(len(data)) {
		return corrupt.At(plainBytesHeader, "Plain: offsets rise to %d in %d bytes of data", end, len(data))
	}
	if err := dst.charge(len(data)); err != nil {
		return err
	}
	dst.Data = append(dst.Data, data...)
	return nil
}

// addOffsets makes space for the offsets of n more values: n+1 entries, of which the first is the end of
// the values so far.
func (b *Bytes) addOffsets(n int) []int64 {
	at := len(b.Offsets) - 1
	b.Offsets = slices.Grow(b.Offsets, n)[:at+n+1]
	return b.Offsets[at:]
}

// SingleValue of byte strings (docs/format/blocks.md): code u16, the value to the end.
func decodeBytesSingle(dst *Bytes, sub []byte, n, fixed int, present []byte) error {
	value := sub[codeSize:]
	if fixed > 0 && len(value) != fixed {
		return corrupt.At(codeSize, "SingleValue: %d bytes for a value of %d", len(value), fixed)
	}
	slots := n
	if fixed == 0 && present != nil {
		slots = simd.Ones(present, n)
	}
	if slots > 0 && len(value) > maxExpanded/slots {
		return corrupt.At(codeSize, "SingleValue: %d values of %d bytes", slots, len(value))
	}
	data, err := dst.grow(slots * len(value))
	if err != nil {
		return err
	}
	simd.Repeat(data, value)
	if fixed > 0 {
		zeroNulls(data, fixed, n, present)
		return nil
	}
	ends := dst.addOffsets(n)
	end := ends[0]
	for i := range n {
		if present == nil || present[i/8]>>(i%8)&1 == 1 {
			end += int64(len(value))
		}
		ends[i+1] = end
	}
	return nil
}

// charge requests size more bytes.
func (b *Bytes) charge(size int) error {
	if b.Charge == nil {
		return nil
	}
	return b.Charge(uint64(size))
}

// grow makes space for size more bytes of data, of unspecified content.
func (b *Bytes) grow(size int) ([]byte, error) {
	if err := b.charge(size); err != nil {
		return nil, err
	}
	at := len(b.Data)
	b.Data = slices.Grow(b.Data, size)[:at+size]
	return b.Data[at:], nil
}

// zeroNulls clears the slots of nulls.
func zeroNulls(data []byte, fixed, n int, present []byte) {
	if present == nil {
		return
	}
	for i := range n {
		if present[i/8]>>(i%8)&1 == 0 {
			clear(data[i*fixed : (i+1)*fixed])
		}
	}
}
