package block

import (
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// PickNumbers fills dst with the values of sub at the places in at, which never fall and lie below n, the number of its values. It
// costs in proportion to them, and for runs to their lengths, too. done is false, and dst of unspecified content, where each value
// depends on the ones before or on all: the block has to be decoded. What is not picked is not
// checked.
//
// walked is the bytes of values that had to be decoded for that, beside those in dst: lengths of runs, entries, exceptions.
func PickNumbers[T Number](dst []T, sub []byte, n int, at []uint32, s *Scratch) (done bool, walked uint64, err error) {
	if len(at) != len(dst) || len(at) > 0 && uint64(at[len(at)-1]) >= uint64(n) {
		return false, 0, corrupt.At(0, "%d slots for %d of %d values", len(at), len(dst), n)
	}
	s.walked = 0
	k := kindOf[T]()
	switch simd.SizeOf[T]() {
	case 1:
		done, err = alone(pickNumbers(simd.Cast[uint8](dst), sub, n, at, k, s))
	case 2:
		done, err = alone(pickNumbers(simd.Cast[uint16](dst), sub, n, at, k, s))
	case 4:
		done, err = alone(pickNumbers(simd.Cast[uint32](dst), sub, n, at, k, s))
	default:
		done, err = alone(pickNumbers(simd.Cast[uint64](dst), sub, n, at, k, s))
	}
	return done, s.walked, err
}

func pickNumbers[U simd.Unsigned](dst []U, sub []byte, n int, at []uint32, k kind, s *Scratch) error {
	size := simd.SizeOf[U]()
	code, err := codeOf(sub, k, size)
	if err != nil {
		return err
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	switch code {
	case Plain:
		if len(sub)-codeSize != n*size {
			return corrupt.At(0, "Plain: %d bytes for %d values of %d", len(sub)-codeSize, n, size)
		}
		load(dst, sub[codeSize:], at)
		return nil
	case SingleValue:
		return decodeSingleValue(dst, sub)
	case FLBitPack, FusedFrameOfReference:
		p, err := parsePacked[U](sub, code, n)
		if err != nil {
			return err
		}
		p.pick(dst, n, at, s)
		return nil
	case FrameOfReference:
		ref, rest, err := parseBased[U](sub, code, elemOf(unsigned, size), n)
		if err != nil {
			return err
		}
		err = pickPart(dst, rest, at, s)
		simd.Add(dst, ref)
		return err
	case Delta:
		return pickRamp(dst, sub, n, at, k)
	case ZigZag:
		rest, err := parseMapped(sub, code, elemOf(unsigned, size), n)
		if err != nil {
			return err
		}
		err = pickPart(dst, rest, at, s)
		simd.UnZigZag(dst)
		return err
	case TruncateU8:
		return pickTruncated[U, uint8](dst, sub, code, n, at, s)
	case TruncateU16:
		return pickTruncated[U, uint16](dst, sub, code, n, at, s)
	case TruncateU32:
		return pickTruncated[U, uint32](dst, sub, code, n, at, s)
	case TruncateU64:
		return pickTruncated[U, uint64](dst, sub, code, n, at, s)
	case RunLength:
		return pickRuns(dst, sub, n, at, k, s)
	case BlockDictionary:
		return pickEntries(dst, sub, n, at, k, s)
	case Alp:
		return pickAlp(dst, sub, n, at, s)
	case AlpRd:
		return pickAlpRd(dst, sub, n, at, s)
	}
	return errNotAlone
}

// pickPart picks from a stream inside a sub-block.
func pickPart[U simd.Unsigned](dst []U, p part, at []uint32, s *Scratch) error {
	if p.nested {
		return corrupt.Locate(pickNumbers(dst, p.b, p.count, at, p.elem.kind(), s), "", int64(p.at))
	}
	if len(p.b)/simd.SizeOf[U]() < p.count {
		return corrupt.At(int64(p.at), "%d bytes for an array of %d × %v", len(p.b), p.count, p.elem)
	}
	load(dst, p.b, at)
	return nil
}

// load reads the numbers of an array at some places, which lie in it.
func load[U simd.Unsigned](dst []U, array []byte, at []uint32) {
	for k, i := range at {
		dst[k] = simd.LoadOne[U](array[int(i)*simd.SizeOf[U]():])
	}
}

// manyOfChunk is how many values of a chunk cost as much one by one as the whole chunk does.
const manyOfChunk = 24

// pick picks from n bit-packed values.
func (p packed[U]) pick(dst []U, n int, at []uint32, s *Scratch) {
	for len(at) > 0 {
		chunk := at[0] / simd.ChunkLen
		some := 1
		for some < len(at) && at[some]/simd.ChunkLen == chunk {
			some++
		}
		if some < manyOfChunk {
			for k, i := range at[:some] {
				dst[k] = p.at(int(i))
			}
		} else {
			vals := p.chunk(int(chunk)*simd.ChunkLen, n, s.room(0))
			for k, i := range at[:some] {
				dst[k] = vals[i%simd.ChunkLen]
			}
		}
		at, dst = at[some:], dst[some:]
	}
}

// pickRamp picks from values that all differ by the same from the one before.
func pickRamp[U simd.Unsigned](dst []U, sub []byte, n int, at []uint32, k kind) error {
	base, rest, err := parseBased[U](sub, Delta, elemOf(k, simd.SizeOf[U]()), n-1)
	if err != nil {
		return err
	}
	if code, err := codeOf(rest.b, k, simd.SizeOf[U]()); err != nil || code != SingleValue {
		return errNotAlone // decoding reports what is wrong, if something is
	}
	step, err := singleValue[U](rest.b)
	for k, i := range at {
		dst[k] = base + step*U(i)
	}
	return corrupt.Locate(err, "", int64(rest.at))
}

func pickTruncated[U, N simd.Unsigned](dst []U, sub []byte, code Code, n int, at []uint32, s *Scratch) error {
	rest, err := parseMapped(sub, code, elemOf(unsigned, simd.SizeOf[N]()), n)
	if err != nil {
		return err
	}
	m := s.mark()
	defer s.release(m)
	narrow := take[N](s, len(dst))
	if err := pickPart(narrow, rest, at, s); err != nil {
		return err
	}
	simd.SignExtend(dst, narrow)
	return nil
}

// pickRuns goes over the lengths of all runs, and picks the values of those that have a place.
func pickRuns[U simd.Unsigned](dst []U, sub []byte, n int, at []uint32, k kind, s *Scratch) error {
	if isPlanes(sub, n) {
		return errNotAlone
	}
	values, lengths, err := parseRuns(sub, elemOf(k, simd.SizeOf[U]()), n)
	if err != nil {
		return err
	}
	m := s.mark()
	defer s.release(m)
	s.walked += 4 * uint64(lengths.count)
	runs := take[uint32](s, len(at))
	found, err := findRuns(runs, at, lengths, s)
	if err != nil {
		return err
	}
	if !found.Whole(n) {
		return corrupt.At(int64(lengths.at), "RunLength: %d runs don't sum up to %d values", lengths.count, n)
	}
	return pickPart(dst, values, runs, s)
}

// findRuns finds the runs of places, chunk by chunk where the lengths are bit-packed.
func findRuns(runs, at []uint32, lengths part, s *Scratch) (found simd.RunsFound, err error) {
	if p, ok, err := packedPart[uint32](lengths); ok || err != nil {
		for i := 0; ok && i < lengths.count; i += simd.ChunkLen {
			found.Find(runs, at, p.chunk(i, lengths.count, s.room(0)))
		}
		return found, err
	}
	l := take[uint32](s, lengths.count)
	if err := decodePart(l, lengths, s); err != nil {
		return found, err
	}
	found.Find(runs, at, l)
	return found, nil
}

// pickEntries picks codes, and looks them up among all entries, which are far fewer than values.
func pickEntries[U simd.Unsigned](dst []U, sub []byte, n int, at []uint32, k kind, s *Scratch) error {
	codes, entries, err := parseDictionary(sub, elemOf(k, simd.SizeOf[U]()), n)
	if err != nil {
		return err
	}
	m := s.mark()
	defer s.release(m)
	c, dict := take[uint32](s, len(at)), take[U](s, entries.count+1)
	if err := pickPart(c, codes, at, s); err != nil {
		return err
	}
	dict[0] = 0
	s.walked += uint64(entries.count) * uint64(simd.SizeOf[U]())
	if err := decodePart(dict[1:], entries, s); err != nil {
		return err
	}
	if !simd.Gather(dst, dict, c) {
		return corrupt.At(pairHeader, "BlockDictionary: code beyond %d entries", entries.count)
	}
	return nil
}

func pickAlp[U simd.Unsigned](dst []U, sub []byte, n int, at []uint32, s *Scratch) error {
	a, err := parseAlp(sub, simd.SizeOf[U](), n)
	if err != nil {
		return err
	}
	if err := pickPart(dst, a.integers, at, s); err != nil {
		return err
	}
	simd.AlpFloats(dst, dst, a.exponent, a.factor)
	s.walked += uint64(len(a.positions))
	return eachException(a.positions, at, func(e, i int) {
		dst[i] = simd.LoadOne[U](a.values[e*simd.SizeOf[U]():])
	})
}

func pickAlpRd[U simd.Unsigned](dst []U, sub []byte, n int, at []uint32, s *Scratch) error {
	a, err := parseAlpRd(sub, simd.SizeOf[U](), n)
	if err != nil {
		return err
	}
	m := s.mark()
	defer s.release(m)
	codes := take[uint16](s, len(at))
	if err := pickPart(codes, a.left, at, s); err != nil {
		return err
	}
	if err := pickPart(dst, a.right, at, s); err != nil {
		return err
	}
	high := highOf[U](&a)
	if !simd.Glue(dst, dst, codes, &high, uint16(a.entryCount-1)) {
		return corrupt.At(int64(a.left.at), "AlpRd: code beyond %d entries", a.entryCount)
	}
	keep := U(1)<<a.rightBits - 1
	s.walked += uint64(len(a.positions))
	return eachException(a.positions, at, func(e, i int) {
		dst[i] = dst[i]&keep | U(u16(a.lefts, 2*e))<<a.rightBits
	})
}

// eachException calls patch with the number of each exception at one of some places and with the number of that place. Exceptions that
// don't rise, which may be several for one place, are for who decodes the block.
func eachException(positions []byte, at []uint32, patch func(e, i int)) error {
	k, next := 0, 0
	for e := range len(positions) / 4 {
		p := u32(positions, 4*e)
		if p < next {
			return errNotAlone
		}
		for next = p + 1; k < len(at) && int(at[k]) < p; k++ {
		}
		for i := k; i < len(at) && int(at[i]) == p; i++ {
			patch(e, i)
		}
	}
	return nil
}
