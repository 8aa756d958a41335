package block

import (
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// FrameOfReference (docs/format/blocks.md) and Delta:
//
//	0        code u16, reference or base T, zero up to 8 × k
//	8 or 16  sub-block, to the end: FOR: n differences to the reference, unsigned;
//	         Delta: n-1 differences to the value before, of type T

// parseBased reads the header that both share. count is the number of nested values.
func parseBased[U simd.Unsigned](sub []byte, code Code, elem Elem, count int) (base U, rest part, err error) {
	head := header(simd.SizeOf[U]())
	if err := checkHeader(sub, code, head); err != nil {
		return 0, part{}, err
	}
	return simd.LoadOne[U](sub[codeSize:]),
		part{b: sub[head:], at: head, nested: true, elem: elem, count: count}, nil
}

func decodeFOR[U simd.Unsigned](dst []U, sub []byte, s *Scratch) error {
	ref, rest, err := parseBased[U](sub, FrameOfReference, elemOf(unsigned, simd.SizeOf[U]()), len(dst))
	if err != nil {
		return err
	}
	if p, ok, err := packedPart[U](rest); ok || err != nil {
		if err == nil {
			simd.Unpack(dst, p.chunks, p.width, p.ref+ref, s.room(0))
		}
		return err
	}
	if err := decodePart(dst, rest, s); err != nil {
		return err
	}
	simd.Add(dst, ref)
	return nil
}

func decodeDelta[U simd.Unsigned](dst []U, sub []byte, k kind, s *Scratch) error {
	if len(dst) == 0 {
		return corrupt.At(0, "Delta: no values")
	}
	base, rest, err := parseBased[U](sub, Delta, elemOf(k, simd.SizeOf[U]()), len(dst)-1)
	if err != nil {
		return err
	}
	dst[0] = base
	dst = dst[1:]
	if code, err := codeOf(rest.b, k, simd.SizeOf[U]()); err == nil && code == SingleValue {
		step, err := singleValue[U](rest.b)
		simd.Ramp(dst, base+step, step)
		return corrupt.Locate(err, "", int64(rest.at))
	}
	if p, ok, err := packedPart[U](rest); ok || err != nil {
		for at := 0; ok && at < len(dst); at += simd.ChunkLen {
			c := p.chunk(at, len(dst), s.room(0))
			simd.PrefixSum(dst[at:at+len(c)], c, base)
			base = dst[at+len(c)-1]
		}
		return err
	}
	if err := decodePart(dst, rest, s); err != nil {
		return err
	}
	simd.PrefixSum(dst, dst, base)
	return nil
}

// TruncateU8, U16, U32, U64 (docs/format/blocks.md) and ZigZag:
//
//	0  code u16, nested u8, zero × 5
//	8  n values, to the end: a sub-block, or a raw array

// parseMapped reads the header that both share.
func parseMapped(sub []byte, code Code, elem Elem, n int) (part, error) {
	head := header(1)
	if err := checkHeader(sub, code, head); err != nil {
		return part{}, err
	}
	if err := checkFlags(sub, code, codeSize); err != nil {
		return part{}, err
	}
	return part{b: sub[head:], at: head, nested: sub[codeSize] != 0, elem: elem, count: n}, nil
}

func decodeZigZag[U simd.Unsigned](dst []U, sub []byte, s *Scratch) error {
	rest, err := parseMapped(sub, ZigZag, elemOf(unsigned, simd.SizeOf[U]()), len(dst))
	if err != nil {
		return err
	}
	if err := decodeWhole(dst, rest, s); err != nil {
		return err
	}
	simd.UnZigZag(dst)
	return nil
}

func decodeTruncate[U simd.Unsigned](dst []U, sub []byte, code Code, s *Scratch) error {
	switch code {
	case TruncateU8:
		return truncated[U, uint8](dst, sub, code, s)
	case TruncateU16:
		return truncated[U, uint16](dst, sub, code, s)
	case TruncateU32:
		return truncated[U, uint32](dst, sub, code, s)
	}
	return truncated[U, uint64](dst, sub, code, s)
}

// truncated decodes into the tail of dst, where the narrow values fit, and widens them from there. A
// bit-packed stream is widened chunk by chunk, and of runs only the values are widened.
func truncated[U, N simd.Unsigned](dst []U, sub []byte, code Code, s *Scratch) error {
	rest, err := parseMapped(sub, code, elemOf(unsigned, simd.SizeOf[N]()), len(dst))
	if err != nil {
		return err
	}
	if p, ok, err := packedPart[N](rest); ok || err != nil {
		for at := 0; ok && at < len(dst); at += simd.ChunkLen {
			c := p.chunk(at, len(dst), s.room(0))
			simd.SignExtend(dst[at:at+len(c)], c)
		}
		return err
	}
	if rest.nested && len(rest.b) >= codeSize && Code(u16(rest.b, 0)) == RunLength {
		return corrupt.Locate(truncatedRuns[U, N](dst, rest.b, s), "", int64(rest.at))
	}
	narrow := simd.Tail[N](dst, len(dst))
	if err := decodeWhole(narrow, rest, s); err != nil {
		return err
	}
	simd.SignExtend(dst, narrow)
	return nil
}

// truncatedRuns expands runs of narrow values into wide ones.
func truncatedRuns[U, N simd.Unsigned](dst []U, sub []byte, s *Scratch) error {
	values, lengths, err := parseRuns(sub, elemOf(unsigned, simd.SizeOf[N]()), len(dst))
	if err != nil {
		return err
	}
	m := s.mark()
	defer s.release(m)
	narrow, wide := take[N](s, values.count), take[U](s, values.count)
	if err := decodePart(narrow, values, s); err != nil {
		return err
	}
	simd.SignExtend(wide, narrow)
	return expandRuns(dst, wide, lengths, s)
}
