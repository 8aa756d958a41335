package block

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// frameHeader is the size of presence_size and values_size.
const frameHeader = 8

// checksumSize is the size of the checksum at the end of a block.
const checksumSize = 4

// Frame is a block taken apart. Both slices lie in the block.
type Frame struct {
	// Presence is the presence section without its padding; empty when every value is present.
	Presence []byte
	// Values is the value sub-block, exactly: several encodings live by its length.
	Values []byte
	// skipped is how many bytes before Values belong to its sub-block, and are taken apart already.
	skipped int
}

// ValuesOffset is where Values starts in the block, to place the offset of a decoder's error.
func (f Frame) ValuesOffset() int64 { return int64(frameHeader + align8(len(f.Presence)) + f.skipped) }

// ParseFrame takes a block apart. With checksum, the last four bytes are the block's checksum and are
// checked first. Bytes between the values and the checksum are ignored.
func ParseFrame(b []byte, checksum bool) (Frame, error) {
	if checksum {
		if len(b) < checksumSize {
			return Frame{}, corrupt.At(0, "value block of %d bytes is too short for its checksum", len(b))
		}
		body := b[:len(b)-checksumSize]
		stored := binary.LittleEndian.Uint32(b[len(body):])
		if sum := fold(xxh3.Hash(body)); sum != stored {
			return Frame{}, corrupt.At(int64(len(body)), "value block: checksum is %08x, its bytes give %08x", stored, sum)
		}
		b = body
	}
	if len(b) < frameHeader {
		return Frame{}, corrupt.At(0, "value block of %d bytes is too short for its header", len(b))
	}
	presence := uint64(binary.LittleEndian.Uint32(b))
	values := uint64(binary.LittleEndian.Uint32(b[4:]))
	start := frameHeader + (presence+7)&^7
	if start+values > uint64(len(b)) {
		return Frame{}, corrupt.At(0, "value block of %d bytes is too short for %d bytes of presence and %d of values",
			len(b), presence, values)
	}
	return Frame{
		Presence: b[frameHeader : frameHeader+presence : frameHeader+presence],
		Values:   b[start : start+values : start+values],
	}, nil
}

// AppendFrame appends a block made of a presence section and a value sub-block. Its length is a multiple
// of 8 with or without the checksum. Callers whose sub-block holds alignment-sensitive parts start the block
// at a multiple of 8 of the buffer, as all blocks do.
func AppendFrame(dst, presence, values []byte, checksum bool) []byte {
	start := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(presence)))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(values)))
	dst = append(dst, presence...)
	dst = pad8(dst, start, 0)
	dst = append(dst, values...)
	if !checksum {
		return pad8(dst, start, 0)
	}
	dst = pad8(dst, start, checksumSize)
	return binary.LittleEndian.AppendUint32(dst, fold(xxh3.Hash(dst[start:])))
}

// fold makes the stored checksum of a hash: low half XOR high half.
func fold(h uint64) uint32 { return uint32(h) ^ uint32(h>>32) }

// pad8 appends zeros until the bytes since start, with extra more, are a multiple of 8.
func pad8(dst []byte, start, extra int) []byte {
	for (len(dst)-start+extra)%8 != 0 {
		dst = append(dst, 0)
	}
	return dst
}

// align8 is n rounded up to a multiple of 8.
func align8(n int) int { return (n + 7) &^ 7 }
