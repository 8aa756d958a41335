package block

import (
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// Lz4 and Zstd of byte strings (docs/format/blocks.md):
//
//	0  code u16, values_size u32, offset width u8, offsets nested u8
//	8  values_size bytes: the values one after the other, compressed as numbers are; zero, up to 8 × k
//	…  offsets section, to the end
type compressed struct {
	data    []byte
	offsets []byte
	offAt   int
	nested  bool
}

func parseCompressed(sub []byte, code Code, fixed int) (c compressed, err error) {
	if err := checkHeader(sub, code, compressedHeader); err != nil {
		return c, err
	}
	size := u32(sub, 2)
	if err := checkWidth(sub[6], fixed, 6); err != nil {
		return c, err
	}
	if err := checkFlags(sub, code, 7); err != nil {
		return c, err
	}
	if c.data, err = cut(sub, code, "compressed values", compressedHeader, size); err != nil {
		return c, err
	}
	c.offAt = min(compressedHeader+align8(size), len(sub))
	c.offsets, c.nested = sub[c.offAt:], sub[7] != 0
	return c, nil
}

func decodeBytesCompressed(dst *Bytes, sub []byte, code Code, n, fixed int, s *Scratch) error {
	c, err := parseCompressed(sub, code, fixed)
	if err != nil {
		return err
	}
	total, err := dst.decodeOffsets(c.offsets, c.nested, n, fixed, s)
	if err != nil {
		return corrupt.Locate(err, "", int64(c.offAt))
	}
	if err := checkExpansion(c.data, total, code); err != nil {
		return corrupt.Locate(err, "", compressedHeader)
	}
	room, err := dst.grow(total)
	if err != nil {
		return err
	}
	return corrupt.Locate(s.decompress(room, c.data, code), "", compressedHeader)
}

// checkExpansion refuses to make space for more than packed can become.
func checkExpansion(packed []byte, total int, code Code) error {
	limit := zstdMax(len(packed))
	if code == Lz4 {
		size, _, err := lz4Size(packed)
		if err != nil {
			return err
		}
		limit = size
	}
	if total > limit {
		return corrupt.At(0, "%v: offsets rise to %d, %d bytes can become %d", code, total, len(packed), limit)
	}
	return nil
}

// decodeOffsets reads the offsets section of Fsst, Lz4 and Zstd (docs/format/blocks.md), nothing for values
// of a fixed size, else n+1 offsets as raw u64 or as a nested sub-block, and puts them behind those that are there. It gives the
// uncompressed size of the values, which the caller has yet to bound.
func (b *Bytes) decodeOffsets(section []byte, nested bool, n, fixed int, s *Scratch) (total int, err error) {
	if fixed > 0 {
		if n > maxExpanded/fixed {
			return 0, corrupt.At(0, "%d values of %d bytes", n, fixed)
		}
		return n * fixed, nil
	}
	if !nested && len(section) != 8*(n+1) {
		return 0, corrupt.At(0, "%d bytes for the offsets of %d values", len(section), n)
	}
	ends := b.addOffsets(n)
	// The entry that ends the values so far is overwritten by the first offset, 0, and set again when all are moved.
	if nested {
		err = decode(simd.Cast[uint64](ends), section, unsigned, s)
	} else {
		simd.Load(ends, section)
	}
	if err != nil {
		return 0, err
	}
	end, err := b.place(ends, maxExpanded)
	return int(end), err
}

// place moves offsets behind the values that are there, and gives the last one of before. They must have started at 0, never gone down, and
// ended at limit or below.
func (b *Bytes) place(offsets []int64, limit int64) (end int64, err error) {
	first, last := offsets[0], offsets[len(offsets)-1]
	if rise := simd.MoveEnds(offsets, int64(len(b.Data))); !rise || first != 0 || last > limit {
		return 0, corrupt.At(0, "offsets run from %d to %d, or go down", uint64(first), uint64(last))
	}
	return last, nil
}
