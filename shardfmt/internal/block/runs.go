package block

import (
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// RunLength (docs/format/blocks.md):
//
//	0   code u16, values_size u32, runs_count u32, values nested u8, lengths nested u8, zero × 4
//	16  values_size bytes: runs_count values of T; zero, up to 8 × k
//	…   runs_count lengths of u32, to the end
const pairHeader = 16

// parseRuns reads the header; n is the number of values that the runs must make up.
func parseRuns(sub []byte, elem Elem, n int) (values, lengths part, err error) {
	if err := checkHeader(sub, RunLength, pairHeader); err != nil {
		return part{}, part{}, err
	}
	if err := checkFlags(sub, RunLength, 10, 11); err != nil {
		return part{}, part{}, err
	}
	size, count := u32(sub, 2), u32(sub, 6)
	b, err := cut(sub, RunLength, "values", pairHeader, size)
	if err != nil {
		return part{}, part{}, err
	}
	if err := boundCount(count, n, sub, RunLength); err != nil {
		return part{}, part{}, err
	}
	values = part{b: b, at: pairHeader, nested: sub[10] != 0, elem: elem, count: count}
	at := min(pairHeader+align8(size), len(sub))
	lengths = part{b: sub[at:], at: at, nested: sub[11] != 0, elem: Uint32, count: count}
	return values, lengths, nil
}

func decodeRuns[U simd.Unsigned](dst []U, sub []byte, k kind, s *Scratch) error {
	if isPlanes(sub, len(dst)) && decodePlanes(dst, sub, s) {
		return nil
	}
	return decodeAnyRuns(dst, sub, k, s)
}

// decodeAnyRuns is decodeRuns without a short way for planes.
func decodeAnyRuns[U simd.Unsigned](dst []U, sub []byte, k kind, s *Scratch) error {
	values, lengths, err := parseRuns(sub, elemOf(k, simd.SizeOf[U]()), len(dst))
	if err != nil {
		return err
	}
	m := s.mark()
	defer s.release(m)
	v := take[U](s, values.count)
	if err := decodePart(v, values, s); err != nil {
		return err
	}
	return expandRuns(dst, v, lengths, s)
}

// expandRuns decodes the lengths and fills dst with the runs.
func expandRuns[U simd.Unsigned](dst, values []U, lengths part, s *Scratch) error {
	m := s.mark()
	defer s.release(m)
	l := take[uint32](s, lengths.count)
	if err := decodePart(l, lengths, s); err != nil {
		return err
	}
	if !simd.ExpandRuns(dst, values, l) {
		return corrupt.At(int64(lengths.at), "RunLength: %d runs don't sum up to %d values", len(l), len(dst))
	}
	return nil
}

// Sparse (docs/format/blocks.md):
//
//	0   code u16, positions_count u32, positions_size u32, positions nested u8, values nested u8, zero × 4
//	16  positions_size bytes: positions of u32, ascending; zero, up to 8 × k
//	…   the values at those positions, to the end; all others are 0

// parseSparse reads the header.
func parseSparse(sub []byte, elem Elem, n int) (positions, values part, err error) {
	if err := checkHeader(sub, Sparse, pairHeader); err != nil {
		return part{}, part{}, err
	}
	if err := checkFlags(sub, Sparse, 10, 11); err != nil {
		return part{}, part{}, err
	}
	count, size := u32(sub, 2), u32(sub, 6)
	b, err := cut(sub, Sparse, "positions", pairHeader, size)
	if err != nil {
		return part{}, part{}, err
	}
	if count > n {
		return part{}, part{}, corrupt.At(2, "Sparse: %d stored values of %d", count, n)
	}
	positions = part{b: b, at: pairHeader, nested: sub[10] != 0, elem: Uint32, count: count}
	if !positions.nested && size != 4*count {
		return part{}, part{}, corrupt.At(6, "Sparse: %d bytes for %d positions", size, count)
	}
	at := min(pairHeader+align8(size), len(sub))
	values = part{b: sub[at:], at: at, nested: sub[11] != 0, elem: elem, count: count}
	return positions, values, nil
}

func decodeSparse[U simd.Unsigned](dst []U, sub []byte, k kind, s *Scratch) error {
	positions, values, err := parseSparse(sub, elemOf(k, simd.SizeOf[U]()), len(dst))
	if err != nil {
		return err
	}
	if positions.count == 0 {
		clear(dst)
		return nil
	}
	m := s.mark()
	defer s.release(m)
	p, v := take[uint32](s, positions.count), take[U](s, values.count)
	if err := decodePart(p, positions, s); err != nil {
		return err
	}
	if err := decodePart(v, values, s); err != nil {
		return err
	}
	clear(dst)
	if !simd.Scatter(dst, p, v) {
		return corrupt.At(pairHeader, "Sparse: positions out of order or not below %d", len(dst))
	}
	return nil
}
