package block

import (
	"github.com/shardcat/shardcat/internal/kernel"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Judge writes a byte for each of the len(dst) values of sub: what judge says of it. Where the encoding has a value once for many
// places, as a block of one value, runs and dictionaries do, judge sees it once. done is false for all other encodings: they
// have to be decoded. judge must write a byte for each value that it is given, and keep neither slice.
func Judge[T Number](dst []byte, sub []byte, s *Scratch, judge func(values []T, out []byte) error) (done bool, err error) {
	k := kindOf[T]()
	switch kernel.SizeOf[T]() {
	case 1:
		return judgeWords(dst, sub, k, s, as[T, uint8](judge))
	case 2:
		return judgeWords(dst, sub, k, s, as[T, uint16](judge))
	case 4:
		return judgeWords(dst, sub, k, s, as[T, uint32](judge))
	}
	return judgeWords(dst, sub, k, s, as[T, uint64](judge))
}

// as lets a judge of numbers judge their bits.
func as[T Number, U kernel.Unsigned](judge func([]T, []byte) error) func([]U, []byte) error {
	return func(values []U, out []byte) error { return judge(kernel.Cast[T](values), out) }
}

func judgeWords[U kernel.Unsigned](dst []byte, sub []byte, k kind, s *Scratch, judge func([]U, []byte) error) (done bool, err error) {
	code, err := codeOf(sub, k, kernel.SizeOf[U]())
	if err != nil {
		return false, err
	}
	m := s.mark()
	defer s.release(m)
	switch code {
	case SingleValue:
		v, err := singleValue[U](sub)
		if err != nil {
			return false, err
		}
		var out [1]byte
		if err := judge([]U{v}, out[:]); err != nil {
			return false, err
		}
		kernel.Fill(dst, out[0])
		return true, nil
	case RunLength:
		values, lengths, err := parseRuns(sub, elemOf(k, kernel.SizeOf[U]()), len(dst))
		if err != nil {
			return false, err
		}
		v := take[U](s, values.count)
		if err := decodePart(v, values, s); err != nil {
			return false, err
		}
		return judgeRuns(dst, v, lengths, s, judge)
	case TruncateU8:
		return judgeTruncated[U, uint8](dst, sub, code, s, judge)
	case TruncateU16:
		return judgeTruncated[U, uint16](dst, sub, code, s, judge)
	case TruncateU32:
		return judgeTruncated[U, uint32](dst, sub, code, s, judge)
	case BlockDictionary:
		return judgeDictionary(dst, sub, k, s, judge)
	}
	return false, nil
}

// judgeRuns judges the value of each run.
func judgeRuns[U kernel.Unsigned](dst []byte, values []U, lengths part, s *Scratch, judge func([]U, []byte) error) (done bool, err error) {
	out := take[uint8](s, len(values))
	if err := judge(values, out); err != nil {
		return false, err
	}
	err = expandRuns(dst, out, lengths, s)
	return err == nil, err
}

// judgeTruncated judges runs of narrow values.
func judgeTruncated[U, N kernel.Unsigned](dst []byte, sub []byte, code Code, s *Scratch, judge func([]U, []byte) error) (done bool, err error) {
	rest, err := parseMapped(sub, code, elemOf(unsigned, kernel.SizeOf[N]()), len(dst))
	if err != nil || !rest.nested || len(rest.b) < codeSize || Code(u16(rest.b, 0)) != RunLength {
		return false, err
	}
	values, lengths, err := parseRuns(rest.b, elemOf(unsigned, kernel.SizeOf[N]()), len(dst))
	if err != nil {
		return false, corrupt.Locate(err, "", int64(rest.at))
	}
	narrow, wide := take[N](s, values.count), take[U](s, values.count)
	if err := decodePart(narrow, values, s); err != nil {
		return false, corrupt.Locate(err, "", int64(rest.at))
	}
	kernel.SignExtend(wide, narrow)
	done, err = judgeRuns(dst, wide, lengths, s, judge)
	return done, corrupt.Locate(err, "", int64(rest.at))
}

// judgeDictionary judges the entries, and the value 0 of the code 0.
func judgeDictionary[U kernel.Unsigned](dst []byte, sub []byte, k kind, s *Scratch, judge func([]U, []byte) error) (done bool, err error) {
	codes, entries, err := parseDictionary(sub, elemOf(k, kernel.SizeOf[U]()), len(dst))
	if err != nil || entries.count >= len(dst) {
		return false, err
	}
	dict := take[U](s, entries.count+1)
	dict[0] = 0
	if err := decodePart(dict[1:], entries, s); err != nil {
		return false, err
	}
	out := take[uint8](s, len(dict))
	if err := judge(dict, out); err != nil {
		return false, err
	}
	good, err := gather(dst, out, codes, s)
	if err == nil && !good {
		err = corrupt.At(pairHeader, "BlockDictionary: code beyond %d entries", entries.count)
	}
	return err == nil, err
}
