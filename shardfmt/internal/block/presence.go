package block

import (
	"encoding/binary"
	"math"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// The forms of a presence section, its first byte; an empty section reports that all values are present
// (docs/format/blocks.md).
const (
	presenceNone    = 1 // every value is null
	presencePlain   = 2 // one byte per value
	presenceRoaring = 3 // negated flag and a Roaring bitmap
)

// DecodePresence writes which of n values are present into dst, a bitmap of at least ⌈n/8⌉ bytes, least
// significant bit first, 1 = present; bits past n in the last byte become 0. It returns the number of nulls.
func DecodePresence(dst []byte, section []byte, n int) (nulls int, err error) {
	dst = dst[:(n+7)/8]
	if len(section) == 0 {
		simd.SetBits(dst, n)
		return 0, nil
	}
	switch section[0] {
	case presenceNone:
		if len(section) > 1 {
			return 0, corrupt.At(1, "%d bytes after a presence of only nulls", len(section)-1)
		}
		clear(dst)
		return n, nil
	case presencePlain:
		if len(section)-1 != n {
			return 0, corrupt.At(0, "presence of %d values in a block of %d", len(section)-1, n)
		}
		return n - simd.BitsOfBytes(dst, section[1:]), nil
	case presenceRoaring:
		return decodeRoaringPresence(dst, section, n)
	}
	return 0, corrupt.Unsupported(0, "presence of form %d", section[0])
}

// decodeRoaringPresence reads a section that lists the present positions, or with the negated flag the nulls.
func decodeRoaringPresence(dst, section []byte, n int) (nulls int, err error) {
	if len(section) < 2 {
		return 0, corrupt.At(0, "presence section of %d byte has no bitmap", len(section))
	}
	clear(dst)
	if err := setRoaring(dst, section[2:], n); err != nil {
		return 0, corrupt.Locate(err, "", 2)
	}
	if section[1] != 0 {
		simd.InvertBits(dst, n)
	}
	return n - simd.Ones(dst, n), nil
}

// u16 is the little-endian number at an offset the caller has checked.
func u16(b []byte, at int) int { return int(binary.LittleEndian.Uint16(b[at:])) }

// u32 is the same for four bytes. Where an int can't hold it, it is the largest int, which no size or count
// that passes a check reaches.
func u32(b []byte, at int) int {
	return int(min(uint64(binary.LittleEndian.Uint32(b[at:])), math.MaxInt))
}
