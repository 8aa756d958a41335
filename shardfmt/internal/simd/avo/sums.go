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
	step := vector * 8 / w.bits
	function(fmt.Sprintf("prefixSum%d", w.bits), fmt.Sprintf("func(dst, src *uint%d, n int, base uint64)", w.bits),
		fmt.Sprintf("fills dst with base and the sum of all of src up to each place. n is a multiple of %d above 0;", step),
		"dst may be src.")
	dst, src, n := pointer("dst"), pointer("src"), pointer("n")
	total := w.spread("base")
	sumUp, last := w.sumsInside()
	v, t := vec(), vec()
	loop(n, step, func() {
		move(Mem{Base: src}, v)
		sumUp(v, t)
		w.add(total, v, t)
		move(t, Mem{Base: dst})
		last(v, t)
		w.add(t, total, total)
		advance(vector, src, dst)
	})
	finish()
}

// sumsInside makes the running sums inside a vector v, by the help of another, t, and fills t with the last one. Numbers move over all
// of a vector of AVX-512; in AVX2, inside its halves first.
func (w word) sumsInside() (sumUp, last func(v, t VecVirtual)) {
	if *avx512 {
		zero, step := zeros(), 8*vector/w.bits
		end := constant(uint64(step-1) * (1 + 1<<32)) // a place for 32 bits, or for 64, of which what is too much is left out
		sumUp = func(v, t VecVirtual) {
			for by := 1; by < step; by *= 2 {
				w.align(Imm(uint64(step-by)), zero, v, t)
				w.add(t, v, v)
			}
		}
		return sumUp, func(v, t VecVirtual) { w.permute(v, end, t) }
	}
	sumUp = func(v, t VecVirtual) {
		for size := w.bits / 8; size < vector/2; size *= 2 {
			VPSLLDQ(Imm(uint64(size)), v, t)
			w.add(t, v, v)
		}
		VPERM2I128(Imm(0x08), v, v, t) // zeros, lower half
		w.last(t)
		w.add(t, v, v)
	}
	return sumUp, func(v, t VecVirtual) {
		VPERM2I128(Imm(0x11), v, v, t) // upper half, twice
		w.last(t)
	}
}

// ramp writes an arithmetic progression: the first vector is there, each next one adds to it.
func ramp(w word) {
	step := vector * 8 / w.bits
	function(fmt.Sprintf("ramp%d", w.bits), fmt.Sprintf("func(dst *uint%d, n int, add uint64)", w.bits),
		fmt.Sprintf("goes on from the %d values at dst, adding add to each of the %d before, for n more values, a multiple of", step, step),
		fmt.Sprintf("%d above 0.", step))
	dst, n := pointer("dst"), pointer("n")
	add := w.spread("add")
	v := vec()
	move(Mem{Base: dst}, v)
	loop(n, step, func() {
		advance(vector, dst)
		w.add(add, v, v)
		move(v, Mem{Base: dst})
	})
	finish()
}

// fill writes the same bytes over and over.
func fill() {
	function("fill", "func(dst *byte, n int, pattern uint64)",
		fmt.Sprintf("fills n bytes, at least %d, with the bytes of the pattern, over and over. n is a multiple of the size of", vector),
		"what the pattern repeats.")
	dst, n := pointer("dst"), pointer("n")
	v := words[2].spread("pattern")
	last := GP64()
	LEAQ(Mem{Base: dst, Index: n, Scale: 1, Disp: -vector}, last)
	Label("loop")
	move(v, Mem{Base: dst})
	advance(vector, dst)
	CMPQ(dst, last)
	JB(LabelRef("loop"))
	move(v, Mem{Base: last}) // what is left over, and some again
	finish()
}

// largest writes the maximum.
func largest() {
	step := 2 * vector / 4
	function("largest32", "func(v *uint32, n int) uint32",
		fmt.Sprintf("is the largest of n numbers, a multiple of %d above 0.", step))
	src, n := pointer("v"), pointer("n")
	a, b := zeros(), zeros()
	loop(n, step, func() {
		VPMAXUD(Mem{Base: src}, a, a)
		VPMAXUD(Mem{Base: src, Disp: vector}, b, b)
		advance(2*vector, src)
	})
	VPMAXUD(b, a, a)
	giveLargest(a)
	finish()
}

// giveLargest makes the largest of the 32-bit numbers of a vector the result.
func giveLargest(a VecVirtual) {
	if *avx512 {
		y, upper := a.AsY(), YMM()
		VEXTRACTI64X4(Imm(1), a, upper)
		VPMAXUD(upper, y, y)
	}
	x, b := a.AsX(), XMM()
	VEXTRACTI128(Imm(1), a.AsY(), b)
	VPMAXUD(b, x, x)
	for _, size := range []uint64{8, 4} {
		VPSRLDQ(Imm(size), x, b)
		VPMAXUD(b, x, x)
	}
	top := GP32()
	VMOVD(x, top)
	Store(top, ReturnIndex(0))
}
