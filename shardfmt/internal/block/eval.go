package block

import (
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// Eval writes a byte for each of the len(dst) values of sub: what eval states about it. Where the encoding has a value once for many
// places, as a block of one value, runs and dictionaries do, eval sees it once. done is false for all other encodings: they
// have to be decoded. eval must write a byte for each value that it is given, and keep neither slice.
func Eval[T Number](dst []byte, sub []byte, s *Scratch, eval func(values []T, out []byte) error) (done bool, err error) {
	k := kindOf[T]()
	switch simd.SizeOf[T]() {
	case 1:
		return evalWords(dst, sub, k, s, as[T, uint8](eval))
	case 2:
		return evalWords(dst, sub, k, s, as[T, uint16](eval))
	case 4:
		return evalWords(dst, sub, k, s, as[T, uint32](eval))
	}
	return evalWords(dst, sub, k, s, as[T, uint64](eval))
}

// as lets a function for numbers take their bits.
func as[T Number, U simd.Unsigned](eval func([]T, []byte) error) func([]U, []byte) error {
	return func(values []U, out []byte) error { return eval(simd.Cast[T](values), out) }
}

func evalWords[U simd.Unsigned](dst []byte, sub []byte, k kind, s *Scratch, eval func([]U, []byte) error) (done bool, err error) {
	code, err := codeOf(sub, k, simd.SizeOf[U]())
	if err != nil {
		return false, err
	}
	if err := s.enter(); err != nil {
		return false, err
	}
	defer s.leave()
	m := s.mark()
	defer s.release(m)
	switch code {
	case SingleValue:
		v, err := singleValue[U](sub)
		if err != nil {
			return false, err
		}
		var out [1]byte
		if err := eval([]U{v}, out[:]); err != nil {
			return false, err
		}
		simd.Fill(dst, out[0])
		return true, nil
	case RunLength:
		if isPlanes(sub, len(dst)) {
			return false, nil
		}
		values, lengths, err := parseRuns(sub, elemOf(k, simd.SizeOf[U]()), len(dst))
		if err != nil {
			return false, err
		}
		v := take[U](s, values.count)
		if err := decodePart(v, values, s); err != nil {
			return false, err
		}
		return evalRuns(dst, v, lengths, s, eval)
	case TruncateU8:
		return evalTruncated[U, uint8](dst, sub, code, s, eval)
	case TruncateU16:
		return evalTruncated[U, uint16](dst, sub, code, s, eval)
	case TruncateU32:
		return evalTruncated[U, uint32](dst, sub, code, s, eval)
	case BlockDictionary:
		return evalDictionary(dst, sub, k, s, eval)
	case Alp:
		return evalAlp(dst, sub, s, eval)
	}
	return false, nil
}

// evalRuns evaluates the value of each run.
func evalRuns[U simd.Unsigned](dst []byte, values []U, lengths part, s *Scratch, eval func([]U, []byte) error) (done bool, err error) {
	out := take[uint8](s, len(values))
	if err := eval(values, out); err != nil {
		return false, err
	}
	err = expandRuns(dst, out, lengths, s)
	return err == nil, err
}

// evalTruncated evaluates narrow values where they are stored once for many places.
func evalTruncated[U, N simd.Unsigned](dst []byte, sub []byte, code Code, s *Scratch, eval func([]U, []byte) error) (done bool, err error) {
	rest, err := parseMapped(sub, code, elemOf(unsigned, simd.SizeOf[N]()), len(dst))
	if err != nil || !rest.nested {
		return false, err
	}
	done, err = evalWords(dst, rest.b, rest.elem.kind(), s, func(narrow []N, out []byte) error {
		wide := take[U](s, len(narrow))
		simd.SignExtend(wide, narrow)
		return eval(wide, out)
	})
	return done, corrupt.Locate(err, "", int64(rest.at))
}

// evalAlp evaluates the floats of integers that are stored once for many places, and the exceptions.
func evalAlp[U simd.Unsigned](dst []byte, sub []byte, s *Scratch, eval func([]U, []byte) error) (done bool, err error) {
	a, err := parseAlp(sub, simd.SizeOf[U](), len(dst))
	if err != nil {
		return false, err
	}
	done, err = evalWords(dst, a.integers.b, a.integers.elem.kind(), s, func(integers []U, out []byte) error {
		floats := take[U](s, len(integers))
		simd.AlpFloats(floats, integers, a.exponent, a.factor)
		return eval(floats, out)
	})
	if err != nil || !done || len(a.positions) == 0 {
		return done, corrupt.Locate(err, "", int64(a.integers.at))
	}
	values := take[U](s, len(a.positions)/4)
	simd.Load(values, a.values)
	out := take[uint8](s, len(values))
	if err := eval(values, out); err != nil {
		return false, err
	}
	err = patch(dst, a.positions, out, a.at, Alp)
	return err == nil, err
}

// evalDictionary evaluates the entries, and the value 0 of the code 0.
func evalDictionary[U simd.Unsigned](dst []byte, sub []byte, k kind, s *Scratch, eval func([]U, []byte) error) (done bool, err error) {
	codes, entries, err := parseDictionary(sub, elemOf(k, simd.SizeOf[U]()), len(dst))
	if err != nil || entries.count >= len(dst) {
		return false, err
	}
	dict := take[U](s, entries.count+1)
	dict[0] = 0
	if err := decodePart(dict[1:], entries, s); err != nil {
		return false, err
	}
	out := take[uint8](s, len(dict))
	if err := eval(dict, out); err != nil {
		return false, err
	}
	good, err := gather(dst, out, codes, s)
	if err == nil && !good {
		err = corrupt.At(pairHeader, "BlockDictionary: code beyond %d entries", entries.count)
	}
	return err == nil, err
}

// EvalWithin writes a bit for each of n values of sub, in words: set where it lies in an interval. Bit-packed values are compared chunk by
// chunk, in the first-level cache, and so are the floats of packed integers. done is false for all other encodings.
func EvalWithin[T Number](dst []uint64, sub []byte, n int, s *Scratch, v *simd.Interval) (done bool, err error) {
	switch simd.SizeOf[T]() {
	case 1:
		return evalPacked[T, uint8](dst, sub, n, s, v)
	case 2:
		return evalPacked[T, uint16](dst, sub, n, s, v)
	case 4:
		return evalPacked[T, uint32](dst, sub, n, s, v)
	}
	return evalPacked[T, uint64](dst, sub, n, s, v)
}

func evalPacked[T Number, U simd.Unsigned](dst []uint64, sub []byte, n int, s *Scratch, v *simd.Interval) (done bool, err error) {
	code, err := codeOf(sub, kindOf[T](), simd.SizeOf[U]())
	if err != nil {
		return false, err
	}
	switch code {
	case FLBitPack, FusedFrameOfReference:
		p, err := parsePacked[U](sub, code, n)
		if err != nil {
			return false, err
		}
		p.eval(dst, n, s, func(dst []uint64, values []U) { simd.Eval(dst, simd.Cast[T](values), v) })
		return true, nil
	case Alp:
		a, err := parseAlp(sub, simd.SizeOf[U](), n)
		if err != nil {
			return false, err
		}
		p, ok, err := packedPart[U](a.integers)
		if !ok || err != nil {
			return false, err
		}
		p.eval(dst, n, s, func(dst []uint64, values []U) {
			simd.AlpFloats(values, values, a.exponent, a.factor)
			simd.Eval(dst, simd.Cast[T](values), v)
		})
		return true, evalExceptions[T, U](dst, n, a, s, v)
	}
	return false, nil
}

// eval unpacks chunk after chunk of n values, and lets each be evaluated into its words.
func (p packed[U]) eval(dst []uint64, n int, s *Scratch, eval func(dst []uint64, values []U)) {
	const words = simd.ChunkLen / 64
	for at := 0; at < n; at += simd.ChunkLen {
		values := p.chunk(at, n, s.room(0))
		eval(dst[at/simd.ChunkLen*words:][:(len(values)+63)/64], values)
	}
}

// evalExceptions evaluates the exceptions of ALP in the place of what their integers stand for.
func evalExceptions[T Number, U simd.Unsigned](dst []uint64, n int, a alp, s *Scratch, v *simd.Interval) error {
	m := s.mark()
	defer s.release(m)
	count := len(a.positions) / 4
	values, words := take[U](s, count), take[uint64](s, (count+63)/64)
	simd.Load(values, a.values)
	simd.Eval(words, simd.Cast[T](values), v)
	for i := range count {
		p := u32(a.positions, 4*i)
		if p >= n {
			return corrupt.At(int64(a.at+4*i), "%v: exception at %d of %d values", Alp, p, n)
		}
		dst[p/64] = dst[p/64]&^(1<<(p%64)) | words[i/64]>>(i%64)&1<<(p%64)
	}
	return nil
}
