package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// steps is of AVX2 alone; the tier of AVX-512 takes it too. It writes the extremes of values and of their differences, and how many of each are what the one before is. It gives whole vectors,
// whose elements are put together in Go.
func steps(w word) {
	size := w.bits / 8
	function(fmt.Sprintf("steps%d", w.bits), fmt.Sprintf("func(src *uint%d, n int, out *[6][%d]uint%d)", w.bits, vector/size, w.bits),
		fmt.Sprintf("looks at n values, a multiple of %d above 0, before which there are two more. out, whose first four vectors hold what", vector/size),
		"came before, gets the least and the greatest values and differences of neighbours, read as signed; its last two count down once for each",
		"value and for each difference that is the same as the one before.")
	src, n, out := pointer("src"), pointer("n"), pointer("out")
	var vectors [6]VecVirtual
	for i := range vectors {
		vectors[i] = YMM()
		VMOVDQU(Mem{Base: out, Disp: vector * i}, vectors[i])
	}
	zero := YMM()
	VPXOR(zero, zero, zero)
	loop(n, vector/size, func() {
		v, step, last := YMM(), YMM(), YMM()
		VMOVDQU(Mem{Base: src}, v)
		VMOVDQU(Mem{Base: src, Disp: -size}, last)
		w.subtract(last, v, step)
		w.subtract(Mem{Base: src, Disp: -2 * size}, last, last)
		w.extremes(v, vectors[0], vectors[1])
		w.extremes(step, vectors[2], vectors[3])
		w.equal(step, last, last)
		w.add(last, vectors[5], vectors[5])
		w.equal(step, zero, step)
		w.add(step, vectors[4], vectors[4])
		advance(vector, src)
	})
	for i, v := range vectors {
		VMOVDQU(v, Mem{Base: out, Disp: vector * i})
	}
	finish()
}

func (w word) subtract(ops ...Op) {
	switch w.bits {
	case 8:
		VPSUBB(ops...)
	case 16:
		VPSUBW(ops...)
	case 32:
		VPSUBD(ops...)
	default:
		VPSUBQ(ops...)
	}
}

func (w word) equal(ops ...Op) {
	switch w.bits {
	case 8:
		VPCMPEQB(ops...)
	case 16:
		VPCMPEQW(ops...)
	case 32:
		VPCMPEQD(ops...)
	default:
		VPCMPEQQ(ops...)
	}
}

// extremes takes v into the least and the greatest; AVX2 has no instruction of that for 64 bits.
func (w word) extremes(v, least, most VecVirtual) {
	switch w.bits {
	case 8:
		VPMINSB(v, least, least)
		VPMAXSB(v, most, most)
	case 16:
		VPMINSW(v, least, least)
		VPMAXSW(v, most, most)
	case 32:
		VPMINSD(v, least, least)
		VPMAXSD(v, most, most)
	default:
		more := YMM()
		VPCMPGTQ(v, least, more)
		VPBLENDVB(more, v, least, least)
		VPCMPGTQ(most, v, more)
		VPBLENDVB(more, v, most, most)
	}
}

// changes is a part of steps: how many values are what the one before is.
func changes(w word) {
	size := w.bits / 8
	function(fmt.Sprintf("changes%d", w.bits), fmt.Sprintf("func(src *uint%d, n int, out *[%d]uint%d)", w.bits, vector/size, w.bits),
		fmt.Sprintf("looks at n values, a multiple of %d above 0, before which there is one more. out counts down once for each that is the", vector/size),
		"same as the one before.")
	src, n, out := pointer("src"), pointer("n"), pointer("out")
	same := zeros()
	loop(n, vector/size, func() {
		v := YMM()
		VMOVDQU(Mem{Base: src}, v)
		w.equal(Mem{Base: src, Disp: -size}, v, v)
		w.add(v, same, same)
		advance(vector, src)
	})
	VMOVDQU(same, Mem{Base: out})
	finish()
}

// extremesOf is another part: the least and the greatest value, of numbers that are signed with the bits of flip turned around.
func extremesOf(w word) {
	size := w.bits / 8
	function(fmt.Sprintf("extremes%d", w.bits), fmt.Sprintf("func(src *uint%d, n int, flip uint64, out *[2][%d]uint%d)", w.bits, vector/size, w.bits),
		fmt.Sprintf("looks at n values, a multiple of %d above 0, and gives the least and the greatest of them, read as signed and with the bits of", vector/size),
		"flip turned around.")
	src, n, flip, out := pointer("src"), pointer("n"), w.spread("flip"), pointer("out")
	least, most := YMM(), YMM()
	VPXOR(Mem{Base: src}, flip, least)
	VMOVDQA(least, most)
	loop(n, vector/size, func() {
		v := YMM()
		VPXOR(Mem{Base: src}, flip, v)
		w.extremes(v, least, most)
		advance(vector, src)
	})
	VMOVDQU(least, Mem{Base: out})
	VMOVDQU(most, Mem{Base: out, Disp: vector})
	finish()
}
