package decimal

import (
	"encoding/binary"
	"math/big"
	"math/bits"
)

// Fixed-point numbers of 128 bits in two's complement, hi·2^64 + lo, are what columnar formats keep decimals in. They
// become decimals and come back by a few multiplications, without text and without a big.Int.

// FromInt128 is (hi·2^64 + lo) × 10^−scale with the scale kept: 12300 at scale 2 is 123.00. exact is false where
// digits had to be rounded off (half to even).
func FromInt128(hi int64, lo uint64, scale int) (v Value, exact bool) {
	p := parts{negative: hi < 0, exponent: -scale}
	high, low := uint64(hi), lo
	if p.negative {
		var borrow uint64
		low, borrow = bits.Sub64(0, low, 0)
		high, _ = bits.Sub64(0, high, borrow)
	}
	fits := high < loUnit && p.exponent >= MinExponent && p.exponent <= MaxExponent
	if fits {
		p.hi, p.lo = bits.Div64(high, low, loUnit)
		fits = p.hi < maxHi
	}
	if !fits {
		return FromScaled(bigInt128(hi, lo), scale)
	}
	return pack(p), true
}

// FromInt64 is n × 10^−scale with the scale kept. exact is false where the exponent is out of range.
func FromInt64(n int64, scale int) (v Value, exact bool) { return FromInt128(n>>63, uint64(n), scale) }

// maxHi bounds the upper part of a coefficient: 16 digits above the 18 of the lower part.
const maxHi = 1e16

func bigInt128(hi int64, lo uint64) *big.Int {
	n := big.NewInt(hi)
	return n.Lsh(n, 64).Add(n, new(big.Int).SetUint64(lo))
}

// Int128 is v × 10^scale as hi·2^64 + lo. ok is false where v is not a finite number, has more fraction digits, or does not
// fit 128 bits.
func (v Value) Int128(scale int) (hi int64, lo uint64, ok bool) {
	p := v.parts()
	if p.kind != finite {
		return 0, 0, false
	}
	high, low, ok := p.scaled(p.exponent + scale)
	if !ok || high>>63 != 0 {
		return 0, 0, false
	}
	if p.negative {
		var borrow uint64
		low, borrow = bits.Sub64(0, low, 0)
		high, _ = bits.Sub64(0, high, borrow)
	}
	return int64(high), low, true
}

// scaled is the coefficient × 10^shift as a number of 128 bits.
func (p *parts) scaled(shift int) (high, low uint64, ok bool) {
	if p.hi|p.lo == 0 {
		return 0, 0, true
	}
	high, low = bits.Mul64(p.hi, loUnit)
	low, carry := bits.Add64(low, p.lo, 0)
	high += carry
	switch {
	case shift > 2*len(tens) || shift < -MaxDigits:
		return 0, 0, false
	case shift >= 0:
		for ok = true; shift > 0 && ok; shift -= min(shift, len(tens)-1) {
			high, low, ok = times(high, low, tens[min(shift, len(tens)-1)])
		}
		return high, low, ok
	}
	for ok = true; shift < 0 && ok; shift += min(-shift, len(tens)-1) {
		high, low, ok = parted(high, low, tens[min(-shift, len(tens)-1)])
	}
	return high, low, ok
}

// times multiplies a number of 128 bits; ok is false where the product has more.
func times(high, low, by uint64) (h, l uint64, ok bool) {
	over, high := bits.Mul64(high, by)
	carry, l := bits.Mul64(low, by)
	h, more := bits.Add64(high, carry, 0)
	return h, l, over|more == 0
}

// parted divides a number of 128 bits; ok is false where something remains.
func parted(high, low, by uint64) (h, l uint64, ok bool) {
	h, rest := bits.Div64(0, high, by)
	l, rest = bits.Div64(rest, low, by)
	return h, l, rest == 0
}

// Short is the member of v's cohort with the fewest digits, so that equal numbers have equal bytes: every zero is Zero,
// every NaN is NaN.
func (v Value) Short() Value {
	if n, ok := v.small(); ok && n%10 != 0 {
		binary.LittleEndian.PutUint64(v[:8], codeThrees(n)) // a declet may have been written in more than one way
		return v
	}
	p := v.parts()
	switch {
	case p.nan():
		return NaN
	case p.kind == infinite:
		return v
	case p.hi|p.lo == 0:
		return Zero
	}
	p.exponent = p.strip()
	return pack(p)
}

// strip takes trailing zeros off the coefficient, as many as the exponent allows, and gives the new exponent.
func (p *parts) strip() int {
	exponent := p.exponent
	for ; p.lo == 0 && p.hi != 0 && exponent+18 <= MaxExponent; exponent += 18 {
		p.hi, p.lo = 0, p.hi
	}
	if p.hi == 0 {
		for ; p.lo%10 == 0 && exponent < MaxExponent; exponent++ {
			p.lo /= 10
		}
		return exponent
	}
	for ; p.lo%10 == 0 && exponent < MaxExponent; exponent++ {
		p.lo = p.lo/10 + p.hi%10*(loUnit/10)
		p.hi /= 10
	}
	return exponent
}
