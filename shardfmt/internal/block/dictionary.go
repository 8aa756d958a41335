package block

import (
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// BlockDictionary of numbers (docs/format/blocks.md):
//
//	0   code u16, codes_size u32, entries u32, dictionary nested u8, zero × 5
//	16  codes_size bytes: sub-block of u32, n codes: 0 = null (the value 0), k = entry k-1
//	…   directly after, to the end: the entries

// parseDictionary reads the header.
func parseDictionary(sub []byte, elem Elem, n int) (codes, entries part, err error) {
	if err := checkHeader(sub, BlockDictionary, pairHeader); err != nil {
		return part{}, part{}, err
	}
	size, count := u32(sub, 2), u32(sub, 6)
	b, err := cut(sub, BlockDictionary, "codes", pairHeader, size)
	if err != nil {
		return part{}, part{}, err
	}
	if err := checkFlags(sub, BlockDictionary, 10); err != nil {
		return part{}, part{}, err
	}
	if err := boundCount(count, n, sub, BlockDictionary); err != nil {
		return part{}, part{}, err
	}
	codes = part{b: b, at: pairHeader, nested: true, elem: Uint32, count: n}
	at := pairHeader + size
	entries = part{b: sub[at:], at: at, nested: sub[10] != 0, elem: elem, count: count}
	return codes, entries, nil
}

func decodeDictionary[U simd.Unsigned](dst []U, sub []byte, k kind, s *Scratch) error {
	codes, entries, err := parseDictionary(sub, elemOf(k, simd.SizeOf[U]()), len(dst))
	if err != nil {
		return err
	}
	m := s.mark()
	defer s.release(m)
	dict := take[U](s, entries.count+1)
	dict[0] = 0 // code 0
	if err := decodePart(dict[1:], entries, s); err != nil {
		return err
	}
	good, err := gather(dst, dict, codes, s)
	if err == nil && !good {
		err = corrupt.At(pairHeader, "BlockDictionary: code beyond %d entries", entries.count)
	}
	return err
}

// gather decodes the codes and looks them up; good is false if one is beyond the dictionary.
func gather[U simd.Unsigned](dst, dict []U, codes part, s *Scratch) (good bool, err error) {
	if p, ok, err := packedPart[uint32](codes); ok || err != nil {
		good = true
		for at := 0; ok && good && at < len(dst); at += simd.ChunkLen {
			c := p.chunk(at, len(dst), s.room(0))
			good = simd.Gather(dst[at:at+len(c)], dict, c)
		}
		return good, err
	}
	c := take[uint32](s, len(dst))
	if err := decodePart(c, codes, s); err != nil {
		return false, err
	}
	return simd.Gather(dst, dict, c), nil
}
