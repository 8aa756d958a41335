package decimal

import (
	"cmp"
	"encoding/binary"
	"math/big"
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
	p.hi = first
	for shift := 100; shift >= 60; shift -= 10 { // the upper five declets
		p.hi = p.hi*1000 + declet(low, high, shift)
	}
	for shift := 50; shift >= 0; shift -= 10 { // the lower six
		p.lo = p.lo*1000 + declet(low, high, shift)
	}
	return p
}

// declet is the three digits whose code starts at bit shift of the 128-bit number high:low.
func declet(low, high uint64, shift int) uint64 {
	switch {
	case shift >= 64:
		return uint64(declets[high>>(shift-64)&1023])
	case shift > 54:
		return uint64(declets[(low>>shift|high<<(64-shift))&1023])
	}
	return uint64(declets[low>>shift&1023])
}

// pack puts a decimal together. The parts must be within the limits.
func pack(p parts) Value {
	var low, high uint64
	hi, lo := p.hi, p.lo
	for shift := 0; shift <= 50; shift += 10 {
		low |= uint64(codes[lo%1000]) << shift
		lo /= 1000
	}
	for shift := 60; shift <= 100; shift += 10 {
		code := uint64(codes[hi%1000])
		hi /= 1000
		if shift == 60 {
			low |= code << 60
			high |= code >> 4
		} else {
			high |= code << (shift - 64)
		}
	}
	high |= combine(p, hi)
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

// IsNaN tells quiet and signalling not-a-numbers.
func (v Value) IsNaN() bool { return v[15]&0x7C == 0x7C }

// IsInfinite tells ±∞.
func (v Value) IsInfinite() bool { return v[15]&0x7C == 0x78 }

// Sign is −1, 0 or +1: 0 for zeros of either sign and for NaN.
func (v Value) Sign() int {
	if v.IsNaN() {
		return 0
	}
	p := v.parts()
	if p.kind == finite && p.hi == 0 && p.lo == 0 {
		return 0
	}
	if p.negative {
		return -1
	}
	return 1
}

// Compare orders by numeric value: −1, 0 or +1. Members of a cohort are equal, and so are zeros of both
// signs. NaN is equal to NaN and above everything else, so that the order is total.
func Compare(a, b Value) int {
	if a == b {
		return 0
	}
	if a.IsNaN() || b.IsNaN() {
		return cmp.Compare(truth(a.IsNaN()), truth(b.IsNaN()))
	}
	if s := a.Sign(); s != b.Sign() || s == 0 {
		return cmp.Compare(s, b.Sign())
	} else if s < 0 {
		return compareMagnitude(b.parts(), a.parts())
	}
	return compareMagnitude(a.parts(), b.parts())
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// compareMagnitude compares the absolute values of two numbers, neither zero nor NaN.
func compareMagnitude(a, b parts) int {
	if a.kind == infinite || b.kind == infinite {
		return cmp.Compare(truth(a.kind == infinite), truth(b.kind == infinite))
	}
	if a.exponent == b.exponent {
		return cmp.Or(cmp.Compare(a.hi, b.hi), cmp.Compare(a.lo, b.lo))
	}
	da, db := a.digits(), b.digits()
	if c := cmp.Compare(a.exponent+len(da), b.exponent+len(db)); c != 0 {
		return c
	}
	for i := range max(len(da), len(db)) {
		if c := cmp.Compare(digitAt(da, i), digitAt(db, i)); c != 0 {
			return c
		}
	}
	return 0
}

func digitAt(d []byte, i int) byte {
	if i < len(d) {
		return d[i]
	}
	return '0'
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
