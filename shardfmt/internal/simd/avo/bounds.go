package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// bounds is of AVX2 alone; the tier of AVX-512 takes it too. It writes what floats come to by themselves, in whole vectors, whose elements are put
// together in Go.
func bounds(w word) {
	size := w.bits / 8
	function(fmt.Sprintf("bounds%d", w.bits), fmt.Sprintf("func(src *float%d, n int, out *[6][%d]uint%d)", w.bits, vector/size, w.bits),
		fmt.Sprintf("looks at n floats, a multiple of %d above 0. out, whose first two vectors hold what came before, gets the least and the", vector/size),
		"greatest of them, how many are less than zero and how many zero, the bits in which they differ from the first one, and bits that are set",
		"if one is infinite or no number; the extremes are of no use then.")
	src, n, out := pointer("src"), pointer("n"), pointer("out")
	var v [6]VecVirtual
	for i := range v {
		v[i] = YMM()
		if i < 2 {
			VMOVDQU(Mem{Base: out, Disp: vector * i}, v[i])
		} else {
			VPXOR(v[i], v[i], v[i])
		}
	}
	least, most, negative, zeros, differ, special := v[0], v[1], v[2], v[3], v[4], v[5]
	zero, first := YMM(), YMM()
	VPXOR(zero, zero, zero)
	w.broadcast(Mem{Base: src}, first)
	magnitude, finite := w.ones(w.bits-1), w.finite()
	loop(n, vector/size, func() {
		x, t := YMM(), YMM()
		VMOVDQU(Mem{Base: src}, x)
		w.floatExtremes(x, least, most)
		w.lessThan(x, zero, t)
		w.subtract(t, negative, negative)
		VPXOR(first, x, t)
		VPOR(t, differ, differ)
		VPAND(magnitude, x, x)
		w.equal(x, zero, t)
		w.subtract(t, zeros, zeros)
		w.greater(x, finite, t)
		VPOR(t, special, special)
		advance(vector, src)
	})
	for i, v := range v {
		VMOVDQU(v, Mem{Base: out, Disp: vector * i})
	}
	finish()
}

// ones is a vector of numbers whose low bits are set.
func (w word) ones(low int) VecVirtual {
	one := uint64(1)<<low - 1
	if w.bits == 32 {
		one |= one << 32
	}
	return constant(one)
}

// finite is a vector of the bits of the largest float.
func (w word) finite() VecVirtual {
	if w.bits == 32 {
		return constant(0x7f7fffff7f7fffff)
	}
	return constant(0x7fefffffffffffff)
}

func (w word) floatExtremes(x, least, most VecVirtual) {
	if w.bits == 32 {
		VMINPS(x, least, least)
		VMAXPS(x, most, most)
		return
	}
	VMINPD(x, least, least)
	VMAXPD(x, most, most)
}

// lessThan compares floats: a < b.
func (w word) lessThan(a, b, to VecVirtual) {
	const less = 0x11 // ordered, quiet
	if w.bits == 32 {
		VCMPPS(Imm(less), b, a, to)
		return
	}
	VCMPPD(Imm(less), b, a, to)
}

// greater compares signed integers: a > b.
func (w word) greater(a, b, to VecVirtual) {
	if w.bits == 32 {
		VPCMPGTD(b, a, to)
		return
	}
	VPCMPGTQ(b, a, to)
}
