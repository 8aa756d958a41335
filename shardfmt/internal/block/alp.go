package block

import (
	"cmp"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// Alp (docs/format/blocks.md; Afroozeh, Kuffo and Boncz, ALP, SIGMOD 2024):
//
//	0   code u16, integers_size u32, exceptions u16, exponent u8, factor u8, zero × 6
//	16  integers_size bytes: sub-block of i32 (for f32) or i64 (for f64)
//	…   exceptions × position u32, exceptions × value T, to the end
//
// Value i is (float(integer i) · 10^factor) · 10^-exponent, two roundings in the precision of T, unless an
// exception overwrites it.
type alp struct {
	integers         part
	exponent, factor int
	positions        []byte // u32 each
	values           []byte
	at               int // of positions
}

const alpHeader = 16

func parseAlp(sub []byte, size, n int) (alp, error) {
	if err := checkHeader(sub, Alp, alpHeader); err != nil {
		return alp{}, err
	}
	length, count := u32(sub, 2), u16(sub, 6)
	a := alp{exponent: int(sub[8]), factor: int(sub[9]), at: alpHeader + length}
	b, err := cut(sub, Alp, "integers", alpHeader, length)
	if err != nil {
		return alp{}, err
	}
	if top := simd.AlpMaxExponent(size); a.exponent > top || a.factor > top {
		return alp{}, corrupt.At(8, "Alp: exponent %d and factor %d, at most %d", a.exponent, a.factor, top)
	}
	a.integers = part{b: b, at: alpHeader, nested: true, elem: elemOf(signed, size), count: n}
	if rest := sub[a.at:]; count > 0 {
		if len(rest) != count*(4+size) {
			return alp{}, corrupt.At(int64(a.at), "Alp: %d bytes for %d exceptions", len(rest), count)
		}
		a.positions, a.values = rest[:4*count], rest[4*count:]
	}
	return a, nil
}

func decodeAlp[U simd.Unsigned](dst []U, sub []byte, s *Scratch) error {
	a, err := parseAlp(sub, simd.SizeOf[U](), len(dst))
	if err != nil {
		return err
	}
	if err := alpFloats(dst, a, s); err != nil {
		return err
	}
	return patch(dst, a.positions, a.values, a.at, Alp)
}

// alpFloats decodes the integers and turns them into floats.
func alpFloats[U simd.Unsigned](dst []U, a alp, s *Scratch) error {
	if p, ok, err := packedPart[U](a.integers); ok || err != nil {
		for at := 0; ok && at < len(dst); at += simd.ChunkLen {
			c := p.chunk(at, len(dst), s.room(0))
			simd.AlpFloats(dst[at:at+len(c)], c, a.exponent, a.factor)
		}
		return err
	}
	if err := decodePart(dst, a.integers, s); err != nil {
		return err
	}
	simd.AlpFloats(dst, dst, a.exponent, a.factor)
	return nil
}

// patch overwrites values at the positions of exceptions.
func patch[U simd.Unsigned](dst []U, positions, values []byte, at int, code Code) error {
	size := simd.SizeOf[U]()
	for i := range len(positions) / 4 {
		p := u32(positions, 4*i)
		if p >= len(dst) {
			return corrupt.At(int64(at+4*i), "%v: exception at %d of %d values", code, p, len(dst))
		}
		dst[p] = simd.LoadOne[U](values[size*i:])
	}
	return nil
}

// AlpRd (docs/format/blocks.md): the high bits of a value from a small dictionary, the low bits as they are.
//
//	0   code u16, left_size u32, right_size u32, exceptions u16, right bits R u8, entries d u8, zero × 2
//	16  d × left part u16
//	…   left_size bytes: sub-block of u16, n codes
//	…   right_size bytes: sub-block of u32 (for f32) or u64 (for f64), n right parts
//	…   exceptions × position u32, exceptions × left part u16, to the end
//
// bits = left << R | right. Nothing is padded between the parts.
type alpRd struct {
	left, right part
	rightBits   int
	entries     [alpRdEntries]uint16
	entryCount  int
	positions   []byte // u32 each
	lefts       []byte // u16 each
	at          int    // of positions
}

const (
	alpRdHeader   = 16
	alpRdEntries  = 8
	alpRdLeftBits = 16
)

func parseAlpRd(sub []byte, size, n int) (a alpRd, err error) {
	if err := checkHeader(sub, AlpRd, alpRdHeader); err != nil {
		return a, err
	}
	leftSize, rightSize, count := u32(sub, 2), u32(sub, 6), u16(sub, 10)
	a.rightBits, a.entryCount = int(sub[12]), int(sub[13])
	if a.rightBits < 8*size-alpRdLeftBits || a.rightBits >= 8*size {
		return a, corrupt.At(12, "AlpRd: %d right bits of %d", a.rightBits, 8*size)
	}
	if a.entryCount == 0 || a.entryCount > alpRdEntries {
		return a, corrupt.At(13, "AlpRd: dictionary of %d entries", a.entryCount)
	}
	dict, err := cut(sub, AlpRd, "dictionary", alpRdHeader, 2*a.entryCount)
	if err != nil {
		return a, err
	}
	simd.Load(a.entries[:a.entryCount], dict)
	leftAt := alpRdHeader + len(dict)
	left, err := cut(sub, AlpRd, "left parts", leftAt, leftSize)
	if err != nil {
		return a, err
	}
	right, err := cut(sub, AlpRd, "right parts", leftAt+leftSize, rightSize)
	if err != nil {
		return a, err
	}
	a.left = part{b: left, at: leftAt, nested: true, elem: Uint16, count: n}
	a.right = part{b: right, at: leftAt + leftSize, nested: true, elem: elemOf(unsigned, size), count: n}
	a.at = leftAt + leftSize + rightSize
	rest := sub[a.at:]
	if len(rest) != 6*count {
		return a, corrupt.At(int64(a.at), "AlpRd: %d bytes for %d exceptions", len(rest), count)
	}
	a.positions, a.lefts = rest[:4*count], rest[4*count:]
	return a, nil
}

func decodeAlpRd[U simd.Unsigned](dst []U, sub []byte, s *Scratch) error {
	a, err := parseAlpRd(sub, simd.SizeOf[U](), len(dst))
	if err != nil {
		return err
	}
	high := highOf[U](&a)
	good, err := glue(dst, a, &high, s)
	if err != nil {
		return err
	}
	if !good {
		return corrupt.At(int64(a.left.at), "AlpRd: code beyond %d entries", a.entryCount)
	}
	return patchLeft(dst, &a)
}

// highOf is the entries of the dictionary in their place.
func highOf[U simd.Unsigned](a *alpRd) (high [alpRdEntries]U) {
	for i, left := range a.entries {
		high[i] = U(left) << a.rightBits
	}
	return high
}

// glue decodes both parts and puts them together; good is false if a code is beyond the dictionary.
func glue[U simd.Unsigned](dst []U, a alpRd, high *[alpRdEntries]U, s *Scratch) (good bool, err error) {
	limit := uint16(a.entryCount - 1)
	left, leftOK, err1 := packedPart[uint16](a.left)
	right, rightOK, err2 := packedPart[U](a.right)
	if err1 != nil || err2 != nil {
		return false, cmp.Or(err1, err2)
	}
	if leftOK && rightOK {
		good = true
		for at := 0; good && at < len(dst); at += simd.ChunkLen {
			l, r := left.chunk(at, len(dst), s.room(0)), right.chunk(at, len(dst), s.room(1))
			good = simd.Glue(dst[at:at+len(r)], r, l, high, limit)
		}
		return good, nil
	}
	m := s.mark()
	defer s.release(m)
	codes := take[uint16](s, len(dst))
	if err := decodePart(codes, a.left, s); err != nil {
		return false, err
	}
	if err := decodePart(dst, a.right, s); err != nil {
		return false, err
	}
	return simd.Glue(dst, dst, codes, high, limit), nil
}

// patchLeft replaces the left parts of exceptions.
func patchLeft[U simd.Unsigned](dst []U, a *alpRd) error {
	keep := U(1)<<a.rightBits - 1
	for e := range len(a.positions) / 4 {
		p := u32(a.positions, 4*e)
		if p >= len(dst) {
			return corrupt.At(int64(a.at+4*e), "AlpRd: exception at %d of %d values", p, len(dst))
		}
		dst[p] = dst[p]&keep | U(u16(a.lefts, 2*e))<<a.rightBits
	}
	return nil
}
