package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// prefixSum writes running sums, a vector a turn. The sums inside a vector don't wait for those before it: only the
// total so far runs from turn to turn, by one addition.
func prefixSum(w word) {
	name, step := fmt.Sprintf("prefixSum%dAVX2", w.bits), vector*8/w.bits
	function(name, fmt.Sprintf("func(dst, src *uint%d, n int, base uint64)", w.bits),
		fmt.Sprintf("%s fills dst with base and the sum of all of src up to each place. n is a multiple of %d above 0;", name, step),
		"dst may be src.")
	dst, src, n := pointer("dst"), pointer("src"), pointer("n")
	total := w.spread("base")
	v, t := YMM(), YMM()
	loop(n, step, func() {
		VMOVDQU(Mem{Base: src}, v)
		for size := w.bits / 8; size < vector/2; size *= 2 { // inside each half
			VPSLLDQ(Imm(uint64(size)), v, t)
			w.add(t, v, v)
		}
		VPERM2I128(Imm(0x08), v, v, t) // zeros, lower half
		w.last(t)
		w.add(t, v, v)
		w.add(total, v, t)
		VMOVDQU(t, Mem{Base: dst})
		VPERM2I128(Imm(0x11), v, v, t) // upper half, twice
		w.last(t)
		w.add(t, total, total)
		ADDQ(Imm(vector), src)
		ADDQ(Imm(vector), dst)
	})
	finish()
}

// ramp writes an arithmetic progression: the first vector is there, each next one adds to it.
func ramp(w word) {
	name, step := fmt.Sprintf("ramp%dAVX2", w.bits), vector*8/w.bits
	function(name, fmt.Sprintf("func(dst *uint%d, n int, add uint64)", w.bits),
		fmt.Sprintf("%s goes on from the %d values at dst, adding add to each of the %d before, for n more values, a multiple of", name, step, step),
		fmt.Sprintf("%d above 0.", step))
	dst, n := pointer("dst"), pointer("n")
	add := w.spread("add")
	v := YMM()
	VMOVDQU(Mem{Base: dst}, v)
	loop(n, step, func() {
		ADDQ(Imm(vector), dst)
		w.add(add, v, v)
		VMOVDQU(v, Mem{Base: dst})
	})
	finish()
}

// fill writes the same bytes over and over.
func fill() {
	function("fillAVX2", "func(dst *byte, n int, pattern uint64)",
		"fillAVX2 fills n bytes, at least 32, with the bytes of the pattern, over and over. n is a multiple of the size of",
		"what the pattern repeats.")
	dst, n := pointer("dst"), pointer("n")
	v := words[2].spread("pattern")
	last := GP64()
	LEAQ(Mem{Base: dst, Index: n, Scale: 1, Disp: -vector}, last)
	Label("loop")
	VMOVDQU(v, Mem{Base: dst})
	ADDQ(Imm(vector), dst)
	CMPQ(dst, last)
	JB(LabelRef("loop"))
	VMOVDQU(v, Mem{Base: last}) // what is left over, and some again
	finish()
}

// largest writes the maximum.
func largest() {
	const step = 2 * vector / 4
	function("largest32AVX2", "func(v *uint32, n int) uint32",
		fmt.Sprintf("largest32AVX2 is the largest of n numbers, a multiple of %d above 0.", step))
	src, n := pointer("v"), pointer("n")
	a, b := YMM(), YMM()
	VPXOR(a, a, a)
	VPXOR(b, b, b)
	loop(n, step, func() {
		VPMAXUD(Mem{Base: src}, a, a)
		VPMAXUD(Mem{Base: src, Disp: vector}, b, b)
		ADDQ(Imm(2*vector), src)
	})
	VPMAXUD(b, a, a)
	giveLargest(a)
	finish()
}

// giveLargest makes the largest of the eight 32-bit numbers of a vector the result.
func giveLargest(a VecVirtual) {
	x, b := a.AsX(), XMM()
	VEXTRACTI128(Imm(1), a, b)
	VPMAXUD(b, x, x)
	for _, size := range []uint64{8, 4} {
		VPSRLDQ(Imm(size), x, b)
		VPMAXUD(b, x, x)
	}
	top := GP32()
	VMOVD(x, top)
	Store(top, ReturnIndex(0))
}
