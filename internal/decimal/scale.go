package decimal

import "encoding/binary"

// Scale converts many numbers with one number of digits behind the point. Values of at most 18 digits that are stored with
// just this exponent, as a column's usually are, go a short way: three digits a table look-up.
type Scale struct {
	digits int
	header uint64 // the upper half of a small positive value, 0 if there is no such exponent
}

// NewScale prepares a scale; a negative one counts zeros before the point.
func NewScale(digits int) Scale {
	s := Scale{digits: digits}
	if p := (parts{exponent: -digits}); p.exponent >= MinExponent && p.exponent <= MaxExponent {
		s.header = combine(p, 0)
	}
	return s
}

// FromInt64 is the function of this name at the scale.
func (s *Scale) FromInt64(n int64) (v Value, exact bool) { return s.FromInt128(n>>63, uint64(n)) }

// signBit is that of the upper half of a value.
const signBit = 1 << 63

// FromInt128 is the function of this name at the scale.
func (s *Scale) FromInt128(hi int64, lo uint64) (v Value, exact bool) {
	exact = s.PutInt128(v[:], hi, lo)
	return v, exact
}

// PutInt128 is FromInt128 into the first Size bytes of dst.
func (s *Scale) PutInt128(dst []byte, hi int64, lo uint64) (exact bool) {
	sign := uint64(hi >> 63)
	magnitude := (lo ^ sign) - sign
	if uint64(hi) != sign || magnitude >= loUnit || s.header == 0 {
		v, exact := FromInt128(hi, lo, s.digits)
		copy(dst, v[:])
		return exact
	}
	_ = dst[Size-1]
	binary.LittleEndian.PutUint64(dst, codeThrees(magnitude))
	binary.LittleEndian.PutUint64(dst[8:], s.header|sign&signBit)
	return true
}

// Int128 is the method of this name of the value that b begins with, which must have Size bytes.
func (s *Scale) Int128(b []byte) (hi int64, lo uint64, ok bool) {
	low, high := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	if high&^signBit != s.header || low>>60 != 0 || s.header == 0 {
		return From(b).Int128(s.digits)
	}
	sign := uint64(int64(high) >> 63)
	n := (threes(low) ^ sign) - sign
	return int64(n) >> 63, n, true
}

// Int128s converts the values in src, Size bytes each, to integers at the scale as Int128 does, as 64 low bits and then 64 high ones. It
// stops at the first value that has more than so many digits, or doesn't go the short way, and reports how many came before it.
func (s *Scale) Int128s(dst [][2]uint64, src []byte, digits int) (n int) {
	limit := uint64(loUnit)
	if digits < 18 {
		limit = tens[max(0, digits)]
	}
	if s.header == 0 {
		return 0
	}
	src = src[:Size*len(dst)]
	for i := range dst {
		low, high := binary.LittleEndian.Uint64(src[Size*i:]), binary.LittleEndian.Uint64(src[Size*i+8:])
		magnitude := threes(low)
		if high&^signBit != s.header || low>>60 != 0 || magnitude >= limit {
			return i
		}
		sign := uint64(int64(high) >> 63)
		v := (magnitude ^ sign) - sign
		dst[i] = [2]uint64{v, uint64(int64(v) >> 63)}
	}
	return len(dst)
}
