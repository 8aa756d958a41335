package block

import (
	"github.com/shardcat/shardcat/internal/kernel"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// NumberAt is value i of the n values of sub, i in [0, n). Where every encoding of the tree keeps values
// apart (bit-packed, plain, dictionary, truncated, frame of reference …) it costs the same for every i;
// where one does not (Delta, Lz4, Zstd), that stream alone is decoded, into s.
func NumberAt[T Number](sub []byte, n, i int, s *Scratch) (T, error) {
	var out [1]T
	err := NumbersAt(out[:], sub, n, i, s)
	return out[0], err
}

// NumbersAt fills dst with the values start … start+len(dst)-1 of the n values of sub. Meant for a few
// values: a block that can be read value by value is, any other is decoded whole, into s.
func NumbersAt[T Number](dst []T, sub []byte, n, start int, s *Scratch) error {
	k := kindOf[T]()
	switch kernel.SizeOf[T]() {
	case 1:
		return run(kernel.Cast[uint8](dst), sub, n, start, k, s)
	case 2:
		return run(kernel.Cast[uint16](dst), sub, n, start, k, s)
	case 4:
		return run(kernel.Cast[uint32](dst), sub, n, start, k, s)
	}
	return run(kernel.Cast[uint64](dst), sub, n, start, k, s)
}

// runShare: from 1/runShare of the block on, a run is cut out of the decoded block.
const runShare = 8

// run reads a run of values.
func run[U kernel.Unsigned](dst []U, sub []byte, n, start int, k kind, s *Scratch) error {
	if start < 0 || start > n || len(dst) > n-start {
		return corrupt.At(0, "values %d to %d of %d", start, start+len(dst), n)
	}
	if len(dst) > 1 && (len(dst) > n/runShare || !direct(sub, k, kernel.SizeOf[U](), 0)) {
		m := s.mark()
		defer s.release(m)
		all := take[U](s, n)
		if err := decode(all, sub, k, s); err != nil {
			return err
		}
		copy(dst, all[start:])
		return nil
	}
	for i := range dst {
		v, err := numberAt[U](sub, n, start+i, k, s)
		if err != nil {
			return err
		}
		dst[i] = v
	}
	return nil
}

// direct: values can be read one by one, at the same cost wherever they lie.
func direct(sub []byte, k kind, size, depth int) bool {
	code, err := codeOf(sub, k, size)
	if err != nil || depth == maxDepth {
		return true // numberAt will say what is wrong
	}
	switch code {
	case Plain, SingleValue, FLBitPack, FusedFrameOfReference:
		return true
	case FrameOfReference:
		return direct(sub[min(header(size), len(sub)):], unsigned, size, depth+1)
	case TruncateU8, TruncateU16, TruncateU32, TruncateU64:
		p, err := parseMapped(sub, code, 0, 0)
		return err != nil || !p.nested || direct(p.b, unsigned, truncatedSize(code), depth+1)
	case ZigZag:
		p, err := parseMapped(sub, code, 0, 0)
		return err != nil || !p.nested || direct(p.b, unsigned, size, depth+1)
	case BlockDictionary:
		codes, entries, err := parseDictionary(sub, elemOf(k, size), len(sub))
		return err == nil && directPart(codes, depth) && directPart(entries, depth)
	case Alp:
		a, err := parseAlp(sub, size, 0)
		return err == nil && len(a.positions) == 0 && directPart(a.integers, depth)
	case AlpRd:
		a, err := parseAlpRd(sub, size, 0)
		return err == nil && len(a.positions) == 0 && directPart(a.left, depth) && directPart(a.right, depth)
	}
	return false
}

func directPart(p part, depth int) bool {
	return !p.nested || direct(p.b, p.elem.kind(), p.elem.size(), depth+1)
}

// numberAt is value i of the n of a sub-block.
func numberAt[U kernel.Unsigned](sub []byte, n, i int, k kind, s *Scratch) (U, error) {
	size := kernel.SizeOf[U]()
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
		return kernel.LoadOne[U](sub[codeSize+i*size:]), nil
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
	case RunLength:
		return runAt[U](sub, n, i, k, s)
	case Sparse:
		return sparseAt[U](sub, n, i, k, s)
	case Alp:
		return alpAt[U](sub, n, i, s)
	case AlpRd:
		return alpRdAt[U](sub, n, i, s)
	}
	return wholeAt[U](sub, n, i, k, s)
}

// wholeAt decodes all n values to give one.
func wholeAt[U kernel.Unsigned](sub []byte, n, i int, k kind, s *Scratch) (U, error) {
	m := s.mark()
	defer s.release(m)
	all := take[U](s, n)
	if err := decode(all, sub, k, s); err != nil {
		return 0, err
	}
	return all[i], nil
}

// partAt is value i of a stream inside a sub-block.
func partAt[U kernel.Unsigned](p part, i int, s *Scratch) (U, error) {
	if p.nested {
		v, err := numberAt[U](p.b, p.count, i, p.elem.kind(), s)
		return v, corrupt.Locate(err, "", int64(p.at))
	}
	size := kernel.SizeOf[U]()
	if i >= p.count || len(p.b)/size < p.count {
		return 0, corrupt.At(int64(p.at), "%d bytes for an array of %d × %v", len(p.b), p.count, p.elem)
	}
	return kernel.LoadOne[U](p.b[i*size:]), nil
}

func zigZagAt[U kernel.Unsigned](sub []byte, n, i int, s *Scratch) (U, error) {
	p, err := parseMapped(sub, ZigZag, elemOf(unsigned, kernel.SizeOf[U]()), n)
	if err != nil {
		return 0, err
	}
	u, err := partAt[U](p, i, s)
	return u>>1 ^ -(u & 1), err
}

func truncatedAt[U, N kernel.Unsigned](sub []byte, code Code, n, i int, s *Scratch) (U, error) {
	p, err := parseMapped(sub, code, elemOf(unsigned, kernel.SizeOf[N]()), n)
	if err != nil {
		return 0, err
	}
	v, err := partAt[N](p, i, s)
	sign := U(1) << (8*kernel.SizeOf[N]() - 1)
	return (U(v) ^ sign) - sign, err
}

func dictionaryAt[U kernel.Unsigned](sub []byte, n, i int, k kind, s *Scratch) (U, error) {
	codes, entries, err := parseDictionary(sub, elemOf(k, kernel.SizeOf[U]()), n)
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
	return partAt[U](entries, int(code)-1, s)
}

func runAt[U kernel.Unsigned](sub []byte, n, i int, k kind, s *Scratch) (U, error) {
	values, lengths, err := parseRuns(sub, elemOf(k, kernel.SizeOf[U]()), n)
	if err != nil {
		return 0, err
	}
	m := s.mark()
	defer s.release(m)
	l := take[uint32](s, lengths.count)
	if err := decodePart(l, lengths, s); err != nil {
		return 0, err
	}
	at, end := -1, uint64(0)
	for r, length := range l {
		end += uint64(length)
		if at < 0 && uint64(i) < end {
			at = r
		}
	}
	if end != uint64(n) {
		return 0, corrupt.At(int64(lengths.at), "RunLength: %d runs sum up to %d values, not %d", len(l), end, n)
	}
	return partAt[U](values, at, s)
}

func sparseAt[U kernel.Unsigned](sub []byte, n, i int, k kind, s *Scratch) (U, error) {
	positions, values, err := parseSparse(sub, elemOf(k, kernel.SizeOf[U]()), n)
	if err != nil || positions.count == 0 {
		return 0, err
	}
	m := s.mark()
	defer s.release(m)
	p := take[uint32](s, positions.count)
	if err := decodePart(p, positions, s); err != nil {
		return 0, err
	}
	at, next := -1, uint32(0)
	for j, v := range p {
		if v < next || uint64(v) >= uint64(n) {
			return 0, corrupt.At(pairHeader, "Sparse: positions out of order or not below %d", n)
		}
		if int(v) == i {
			at = j
		}
		next = v + 1
	}
	if at < 0 {
		return 0, nil
	}
	return partAt[U](values, at, s)
}

func alpAt[U kernel.Unsigned](sub []byte, n, i int, s *Scratch) (U, error) {
	size := kernel.SizeOf[U]()
	a, err := parseAlp(sub, size, n)
	if err != nil {
		return 0, err
	}
	if e, err := exceptionAt(a.positions, n, i, a.at, Alp); err != nil {
		return 0, err
	} else if e >= 0 {
		return kernel.LoadOne[U](a.values[e*size:]), nil
	}
	var v [1]U
	v[0], err = partAt[U](a.integers, i, s)
	kernel.AlpFloats(v[:], v[:], a.exponent, a.factor)
	return v[0], err
}

func alpRdAt[U kernel.Unsigned](sub []byte, n, i int, s *Scratch) (U, error) {
	a, err := parseAlpRd(sub, kernel.SizeOf[U](), n)
	if err != nil {
		return 0, err
	}
	code, err := partAt[uint16](a.left, i, s)
	if err != nil {
		return 0, err
	}
	if int(code) >= a.entryCount {
		return 0, corrupt.At(int64(a.left.at), "AlpRd: code %d beyond %d entries", code, a.entryCount)
	}
	left := a.entries[code]
	if e, err := exceptionAt(a.positions, n, i, a.at, AlpRd); err != nil {
		return 0, err
	} else if e >= 0 {
		left = uint16(u16(a.lefts, 2*e))
	}
	right, err := partAt[U](a.right, i, s)
	return right | U(left)<<a.rightBits, err
}

// exceptionAt is which exception overwrites value i: the last one at its position, or -1.
func exceptionAt(positions []byte, n, i, at int, code Code) (int, error) {
	found := -1
	for e := range len(positions) / 4 {
		p := u32(positions, 4*e)
		if p >= n {
			return 0, corrupt.At(int64(at+4*e), "%v: exception at %d of %d values", code, p, n)
		}
		if p == i {
			found = e
		}
	}
	return found, nil
}
