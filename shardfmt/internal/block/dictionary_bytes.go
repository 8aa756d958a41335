package block

import (
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// BlockDictionary of byte strings (docs/format/blocks.md):
//
//	0   code u16, codes_size u32, lengths_size u32, entries u32, lengths nested u8, zero
//	16  codes_size bytes: sub-block of u32, n codes: 0 = null, k = entry k-1; zero, up to 8 × k
//	…   lengths_size bytes: length of each entry as u32; nothing for values of a fixed size
//	…   directly after, to the end: the entries' bytes
//
// The codes alone report which values are null. (The reference's reader looks for the entries of fixed-size
// values where the codes start and so returns the wrong bytes; what its writer stores is as above.)
type bytesDictionary struct {
	codes, lengths part
	entries        int
	data           []byte
	dataAt         int
}

func parseBytesDictionary(sub []byte, n, fixed int) (d bytesDictionary, err error) {
	if err := checkHeader(sub, BlockDictionary, pairHeader); err != nil {
		return d, err
	}
	codesSize, lengthsSize := u32(sub, 2), u32(sub, 6)
	d.entries = u32(sub, 10)
	if err := checkFlags(sub, BlockDictionary, 14); err != nil {
		return d, err
	}
	codes, err := cut(sub, BlockDictionary, "codes", pairHeader, codesSize)
	if err != nil {
		return d, err
	}
	at := min(pairHeader+align8(codesSize), len(sub))
	lengths, err := cut(sub, BlockDictionary, "lengths", at, lengthsSize)
	if err != nil {
		return d, err
	}
	d.dataAt = at + lengthsSize
	d.data = sub[d.dataAt:]
	d.codes = part{b: codes, at: pairHeader, nested: true, elem: Uint32, count: n}
	d.lengths = part{b: lengths, at: at, nested: sub[14] != 0, elem: Uint32, count: d.entries}
	if fixed > 0 {
		if d.entries > len(d.data)/fixed {
			return d, corrupt.At(10, "BlockDictionary: %d entries of %d bytes in %d", d.entries, fixed, len(d.data))
		}
		return d, nil
	}
	return d, boundCount(d.entries, n, sub, BlockDictionary)
}

// spans fills the place of every code in the entries' bytes: code k is data[spans[k]:spans[k+1]], where
// code 0 is empty. spans has two more entries than the dictionary.
func (d bytesDictionary) spans(spans []uint64, s *Scratch) error {
	m := s.mark()
	defer s.release(m)
	lengths := take[uint32](s, d.entries)
	if err := decodePart(lengths, d.lengths, s); err != nil {
		return err
	}
	end := uint64(0)
	spans[0], spans[1] = 0, 0
	for i, l := range lengths {
		end += uint64(l)
		spans[i+2] = end
	}
	if end > uint64(len(d.data)) {
		return corrupt.At(int64(d.lengths.at), "BlockDictionary: entries of %d bytes in %d", end, len(d.data))
	}
	return nil
}

func decodeBytesDictionary(dst *Bytes, sub []byte, n, fixed int, present []byte, s *Scratch) error {
	d, err := parseBytesDictionary(sub, n, fixed)
	if err != nil {
		return err
	}
	m := s.mark()
	defer s.release(m)
	codes := take[uint32](s, n)
	if err := decodePart(codes, d.codes, s); err != nil {
		return err
	}
	if !simd.AllAtMost(codes, uint32(d.entries)) {
		return corrupt.At(pairHeader, "BlockDictionary: code beyond %d entries", d.entries)
	}
	if err := setNulls(present, codes); err != nil {
		return err
	}
	if fixed > 0 {
		return gatherFixed(dst, d, codes, fixed)
	}
	spans := take[uint64](s, d.entries+2)
	if err := d.spans(spans, s); err != nil {
		return err
	}
	return gatherBytes(dst, d, codes, spans)
}

// setNulls makes presence and codes agree: a position is null if either reports it.
func setNulls(present []byte, codes []uint32) error {
	if present == nil {
		for i, c := range codes {
			if c == 0 {
				return corrupt.At(pairHeader, "BlockDictionary: value %d is null in a field without nulls", i)
			}
		}
		return nil
	}
	for i, c := range codes {
		bit := byte(1) << (i % 8)
		switch {
		case present[i/8]&bit == 0:
			codes[i] = 0
		case c == 0:
			present[i/8] &^= bit
		}
	}
	return nil
}

// gatherFixed appends the values of a fixed size.
func gatherFixed(dst *Bytes, d bytesDictionary, codes []uint32, fixed int) error {
	if len(codes) > maxExpanded/fixed {
		return corrupt.At(0, "BlockDictionary: %d values of %d bytes", len(codes), fixed)
	}
	out, err := dst.grow(len(codes) * fixed)
	if err != nil {
		return err
	}
	for i, c := range codes {
		slot := out[i*fixed : (i+1)*fixed]
		if c == 0 {
			clear(slot)
		} else {
			copy(slot, d.data[(int(c)-1)*fixed:])
		}
	}
	return nil
}

// gatherBytes appends the values of any length: their ends first, which report the space they need.
func gatherBytes(dst *Bytes, d bytesDictionary, codes []uint32, spans []uint64) error {
	base := int64(len(dst.Data))
	ends := dst.addOffsets(len(codes))
	end := base
	for i, c := range codes {
		end += int64(spans[c+1] - spans[c])
		ends[i+1] = end
	}
	if end-base > maxExpanded {
		return corrupt.At(0, "BlockDictionary: %d bytes of values", end-base)
	}
	room, err := dst.grow(int(end - base))
	if err == nil {
		simd.GatherBytes(room, d.data, codes, spans)
	}
	return err
}
