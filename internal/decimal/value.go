package decimal

import (
	"cmp"
	"encoding/binary"
	"math/big"
	"math/bits"
)

// Size of a decimal in bytes.
const Size = 16

// Limits of a finite value: coefficient digits, and the exponent of the last digit.
const (
	MaxDigits   = 34
	MinExponent = -bias
	MaxExponent = 12287 - bias

	bias = 6176
)

// Value is one decimal as it is stored.
type Value [Size]byte

// The special values, and zero with exponent 0.
var (
	Zero             = pack(parts{})
	NaN              = Value{15: 0x7C}
	Infinity         = Value{15: 0x78}
	NegativeInfinity = Value{15: 0xF8}
)

// From copies the 16 bytes at the start of b, which must be that long.
func From(b []byte) Value { return Value(b[:Size]) }

type kind uint8

const (
	finite kind = iota
	infinite
	quietNaN
	signallingNaN
)

// parts is a decimal taken apart: coefficient = hi·10^18 + lo, where hi has at most 16 digits and lo 18.
// NaNs have their payload there.
type parts struct {
	kind     kind
	negative bool
	exponent int
	hi, lo   uint64
}

const loUnit = 1_000_000_000_000_000_000 // 10^18

// parts takes v apart.
func (v Value) parts() parts {
	low, high := binary.LittleEndian.Uint64(v[:8]), binary.LittleEndian.Uint64(v[8:])
	p := parts{negative: high>>63 != 0}
	combination := high >> 58 & 31
	var first uint64
	switch {
	case combination == 30:
		return parts{kind: infinite, negative: p.negative}
	case combination == 31:
		p.kind = quietNaN + kind(high>>57&1)
	case combination>>3 == 3:
		first = 8 + combination&1
		p.exponent = int(combination>>1&3<<12|high>>46&0xFFF) - bias
	default:
		first = combination & 7
		p.exponent = int(combination>>3<<12|high>>46&0xFFF) - bias
	}
	p.lo = threes(low)
	if rest := low>>60 | high<<18>>14; rest|first != 0 { // the upper five declets
		p.hi = first*1_000_000_000_000_000 + threes(rest)
	}
	return p
}

// high is the upper half of v: sign, exponent, and the digits from the 19th on.
func (v *Value) high() uint64 { return binary.LittleEndian.Uint64(v[8:]) }

// small gives the coefficient of a finite value that has at most 18 digits.
func (v *Value) small() (coefficient uint64, ok bool) {
	low, high := v.Words()
	if !small(low, high) {
		return 0, false
	}
	return threes(low), true
}

// floatTens are the powers of ten that floating-point numbers hold exactly.
var floatTens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// Nearest is the floating-point number nearest to v, where one division of exact ones gives it: of a coefficient below 2^53, and of up to 22 digits
// behind the point. The greater of two values has no smaller one, and equal values have the same.
func (v Value) Nearest() (f float64, ok bool) {
	n, ok := v.small()
	fraction := bias - int(v.high()>>61&3<<12|v.high()>>46&0xFFF)
	if !ok || n >= 1<<53 || fraction < 0 || fraction >= len(floatTens) {
		return 0, false
	}
	if f = float64(n) / floatTens[fraction]; v.high()&signBit != 0 {
		f = -f
	}
	return f, true
}

// threes is the number whose up to six declets are the low 60 bits of c.
func threes(c uint64) uint64 {
	low := uint64(declets[c&1023]) + 1000*uint64(declets[c>>10&1023]) + 1_000_000*uint64(declets[c>>20&1023])
	if c < 1<<30 {
		return low
	}
	high := uint64(declets[c>>30&1023]) + 1000*uint64(declets[c>>40&1023]) + 1_000_000*uint64(declets[c>>50&1023])
	return high*1_000_000_000 + low
}

// codeThrees packs a number below 10^18 into six declets.
func codeThrees(n uint64) uint64 {
	if n < 1_000_000_000 {
		return codeNine(uint32(n))
	}
	return codeNine(uint32(n%1_000_000_000)) | codeNine(uint32(n/1_000_000_000))<<30
}

// codeNine packs nine digits into three declets.
func codeNine(n uint32) uint64 {
	thousands := n / 1000
	return uint64(codes[n-1000*thousands]) | uint64(codes[thousands%1000])<<10 | uint64(codes[n/1_000_000])<<20
}

// pack puts a decimal together. The parts must be within the limits.
func pack(p parts) Value {
	low, high, first := codeThrees(p.lo), uint64(0), uint64(0)
	if p.hi != 0 {
		first = p.hi / 1_000_000_000_000_000
		upper := codeThrees(p.hi % 1_000_000_000_000_000)
		low |= upper << 60
		high = upper >> 4
	}
	high |= combine(p, first)
	var v Value
	binary.LittleEndian.PutUint64(v[:8], low)
	binary.LittleEndian.PutUint64(v[8:], high)
	return v
}

// combine gives the sign, combination and exponent bits of a value with the given first digit.
func combine(p parts, first uint64) uint64 {
	var top uint64
	switch p.kind {
	case infinite:
		top = 30 << 58
	case quietNaN:
		top = 31 << 58
	case signallingNaN:
		top = 63 << 57
	default:
		e := uint64(p.exponent + bias)
		if first >= 8 {
			top = 24<<58 | e>>12<<59 | (first-8)<<58
		} else {
			top = e>>12<<61 | first<<58
		}
		top |= e & 0xFFF << 46
	}
	if p.negative {
		top |= 1 << 63
	}
	return top
}

// IsNaN reports quiet and signalling not-a-numbers.
func (v Value) IsNaN() bool { return v[15]&0x7C == 0x7C }

// IsInfinite reports ±∞.
func (v Value) IsInfinite() bool { return v[15]&0x7C == 0x78 }

// Sign is −1, 0 or +1: 0 for zeros of either sign and for NaN.
func (v Value) Sign() int {
	p := v.parts()
	return p.sign()
}

func (p *parts) sign() int {
	switch {
	case p.kind == quietNaN || p.kind == signallingNaN, p.kind == finite && p.hi|p.lo == 0:
		return 0
	case p.negative:
		return -1
	}
	return 1
}

func (p *parts) nan() bool { return p.kind == quietNaN || p.kind == signallingNaN }

// Compare orders by numeric value: −1, 0 or +1. Members of a cohort are equal, and so are zeros of both
// signs. NaN is equal to NaN and above everything else, so that the order is total.
func Compare(a, b Value) int {
	if a == b {
		return 0
	}
	p, q := a.parts(), b.parts()
	return p.compare(&q)
}

func (p *parts) compare(q *parts) int {
	if p.nan() || q.nan() {
		return cmp.Compare(truth(p.nan()), truth(q.nan()))
	}
	if s := p.sign(); s != q.sign() || s == 0 {
		return cmp.Compare(s, q.sign())
	} else if s < 0 {
		return compareMagnitude(q, p)
	}
	return compareMagnitude(p, q)
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// compareMagnitude compares the absolute values of two numbers, neither zero nor NaN.
func compareMagnitude(a, b *parts) int {
	if a.kind == infinite || b.kind == infinite {
		return cmp.Compare(truth(a.kind == infinite), truth(b.kind == infinite))
	}
	if a.exponent == b.exponent {
		return cmp.Or(cmp.Compare(a.hi, b.hi), cmp.Compare(a.lo, b.lo))
	}
	if c := cmp.Compare(a.exponent+a.len(), b.exponent+b.len()); c != 0 {
		return c
	}
	// As many digits before the point: brought to one exponent, the longer one's length is enough for both.
	if a.exponent > b.exponent {
		return -compareMagnitude(b, a)
	}
	wide := b.shifted(b.exponent - a.exponent)
	return cmp.Or(cmp.Compare(a.hi, wide.hi), cmp.Compare(a.lo, wide.lo))
}

// shifted is the coefficient times 10^n, which must have at most 34 digits.
func (p *parts) shifted(n int) parts {
	if n >= 18 {
		p, n = &parts{hi: p.lo}, n-18
	}
	high, lo := bits.Mul64(p.lo, tens[n])
	over, lo := bits.Div64(high, lo, loUnit)
	return parts{hi: p.hi*tens[n] + over, lo: lo}
}

// len is how many digits the coefficient has, at least one.
func (p *parts) len() int {
	if p.hi == 0 {
		return digitCount(p.lo)
	}
	return digitCount(p.hi) + 18
}

// tens are the powers of ten that 64 bits hold.
var tens = [...]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

// digitCount is the number of decimal digits of n; 0 has one.
func digitCount(n uint64) int {
	guess := bits.Len64(n|1) * 1233 >> 12 // log10(2) is just above 1233/4096 for all 64 lengths
	if n >= tens[guess] {
		guess++
	}
	return max(guess, 1)
}

// Coefficient and exponent of a finite value: v = coefficient × 10^exponent. ok is false for ±∞ and NaN.
func (v Value) Coefficient() (coefficient *big.Int, exponent int, ok bool) {
	p := v.parts()
	if p.kind != finite {
		return nil, 0, false
	}
	c := new(big.Int).SetUint64(p.hi)
	c.Mul(c, big.NewInt(loUnit)).Add(c, new(big.Int).SetUint64(p.lo))
	if p.negative {
		c.Neg(c)
	}
	return c, p.exponent, true
}
