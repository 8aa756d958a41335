package block

import (
	"errors"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// NumbersAt fills dst with the values start … start+len(dst)-1 of the n values of sub, if they can be read one by one at
// the same cost wherever they lie: bit-packed, plain, dictionary, truncated, frame of reference and the like. done is false
// where they can't, since each depends on others (Delta, RunLength, Lz4, exceptions of ALP …): the block has to be decoded.
func NumbersAt[T Number](dst []T, sub []byte, n, start int, s *Scratch) (done bool, err error) {
	k := kindOf[T]()
	switch simd.SizeOf[T]() {
	case 1:
		return numbersAt(simd.Cast[uint8](dst), sub, n, start, k, s)
	case 2:
		return numbersAt(simd.Cast[uint16](dst), sub, n, start, k, s)
	case 4:
		return numbersAt(simd.Cast[uint32](dst), sub, n, start, k, s)
	}
	return numbersAt(simd.Cast[uint64](dst), sub, n, start, k, s)
}

func numbersAt[U simd.Unsigned](dst []U, sub []byte, n, start int, k kind, s *Scratch) (done bool, err error) {
	if start < 0 || start > n || len(dst) > n-start {
		return false, corrupt.At(0, "values %d to %d of %d", start, start+len(dst), n)
	}
	for i := range dst {
		if dst[i], err = numberAt[U](sub, n, start+i, k, s); err != nil {
			return alone(err)
		}
	}
	return true, nil
}

// errNotAlone is the error of a value that can't be read without others of its block.
var errNotAlone = errors.New("the block has no random access")

// alone makes of it that nothing was done.
func alone(err error) (done bool, _ error) {
	if errors.Is(err, errNotAlone) {
		return false, nil
	}
	return err == nil, err
}

// numberAt is value i of the n of a sub-block.
func numberAt[U simd.Unsigned](sub []byte, n, i int, k kind, s *Scratch) (U, error) {
	size := simd.SizeOf[U]()
	code, err := codeOf(sub, k, size)
	if err != nil {
		return 0, err
	}
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.leave()
	switch code {
	case Plain:
		if len(sub)-codeSize != n*size {
			return 0, corrupt.At(0, "Plain: %d bytes for %d values of %d", len(sub)-codeSize, n, size)
		}
		return simd.LoadOne[U](sub[codeSize+i*size:]), nil
	case SingleValue:
		return singleValue[U](sub)
	case FLBitPack, FusedFrameOfReference:
		p, err := parsePacked[U](sub, code, n)
		if err != nil {
			return 0, err
		}
		return p.at(i), nil
	case FrameOfReference:
		ref, rest, err := parseBased[U](sub, code, elemOf(unsigned, size), n)
		if err != nil {
			return 0, err
		}
		v, err := partAt[U](rest, i, s)
		return v + ref, err
	case ZigZag:
		return zigZagAt[U](sub, n, i, s)
	case TruncateU8:
		return truncatedAt[U, uint8](sub, code, n, i, s)
	case TruncateU16:
		return truncatedAt[U, uint16](sub, code, n, i, s)
	case TruncateU32:
		return truncatedAt[U, uint32](sub, code, n, i, s)
	case TruncateU64:
		return truncatedAt[U, uint64](sub, code, n, i, s)
	case BlockDictionary:
		return dictionaryAt[U](sub, n, i, k, s)
	case Alp:
		return alpAt[U](sub, n, i, s)
	case AlpRd:
		return alpRdAt[U](sub, n, i, s)
	}
	return 0, errNotAlone
}

// partAt is value i of a stream inside a sub-block.
func partAt[U simd.Unsigned](p part, i int, s *Scratch) (U, error) {
	if p.nested {
		v, err := numberAt[U](p.b, p.count, i, p.elem.kind(), s)
		return v, corrupt.Locate(err, "", int64(p.at))
	}
	size := simd.SizeOf[U]()
	if i >= p.count || len(p.b)/size < p.count {
		return 0, corrupt.At(int64(p.at), "%d bytes for an array of %d × %v", len(p.b), p.count, p.elem)
	}
	return simd.LoadOne[U](p.b[i*size:]), nil
}

func zigZagAt[U simd.Unsigned](sub []byte, n, i int, s *Scratch) (U, error) {
	p, err := parseMapped(sub, ZigZag, elemOf(unsigned, simd.SizeOf[U]()), n)
	if err != nil {
		return 0, err
	}
	u, err := partAt[U](p, i, s)
	return u>>1 ^ -(u & 1), err
}

func truncatedAt[U, N simd.Unsigned](sub []byte, code Code, n, i int, s *Scratch) (U, error) {
	p, err := parseMapped(sub, code, elemOf(unsigned, simd.SizeOf[N]()), n)
	if err != nil {
		return 0, err
	}
	v, err := partAt[N](p, i, s)
	sign := U(1) << (8*simd.SizeOf[N]() - 1)
	return (U(v) ^ sign) - sign, err
}

func dictionaryAt[U simd.Unsigned](sub []byte, n, i int, k kind, s *Scratch) (U, error) {
	codes, entries, err := parseDictionary(sub, elemOf(k, simd.SizeOf[U]()), n)
	if err != nil {
		return 0, err
	}
	code, err := partAt[uint32](codes, i, s)
	if err != nil || code == 0 {
		return 0, err
	}
	if uint64(code) > uint64(entries.count) {
		return 0, corrupt.At(pairHeader, "BlockDictionary: code %d beyond %d entries", code, entries.count)
	}
	v, err := partAt[U](entries, int(code)-1, s)
	if !errors.Is(err, errNotAlone) {
		return v, err
	}
	// The entries depend on each other; they are far fewer than the values that decoding the block would take.
	m := s.mark()
	defer s.release(m)
	all := take[U](s, entries.count)
	if err := decodePart(all, entries, s); err != nil {
		return 0, err
	}
	return all[code-1], nil
}

func alpAt[U simd.Unsigned](sub []byte, n, i int, s *Scratch) (U, error) {
	size := simd.SizeOf[U]()
	a, err := parseAlp(sub, size, n)
	if err != nil {
		return 0, err
	}
	if len(a.positions) > 0 {
		return 0, errNotAlone
	}
	var v [1]U
	v[0], err = partAt[U](a.integers, i, s)
	simd.AlpFloats(v[:], v[:], a.exponent, a.factor)
	return v[0], err
}

func alpRdAt[U simd.Unsigned](sub []byte, n, i int, s *Scratch) (U, error) {
	a, err := parseAlpRd(sub, simd.SizeOf[U](), n)
	if err != nil {
		return 0, err
	}
	if len(a.positions) > 0 {
		return 0, errNotAlone
	}
	code, err := partAt[uint16](a.left, i, s)
	if err != nil {
		return 0, err
	}
	if int(code) >= a.entryCount {
		return 0, corrupt.At(int64(a.left.at), "AlpRd: code %d beyond %d entries", code, a.entryCount)
	}
	left := a.entries[code]
	right, err := partAt[U](a.right, i, s)
	return right | U(left)<<a.rightBits, err
}
