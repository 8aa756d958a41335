package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// split is of AVX2 alone; the tier of AVX-512 takes it too. It looks up the left parts of ALP-RD: the upper three bits of a product choose one of eight
// entries, which is the left part or it isn't in the dictionary.
func split(w word) {
	const step = 8
	function(fmt.Sprintf("split%d", w.bits), fmt.Sprintf("func(codes *uint16, missed *byte, src *uint%d, n int, cut, factor uint64, lefts, numbers *uint32) uint64", w.bits),
		"looks up the upper parts of n values, a multiple of 8 above 0, from bit cut on, in eight lefts, by the upper three bits of their products",
		"with factor. It writes the number that belongs to each, or 0 and a bit in missed, and gives all bits that any value has.")
	codes, missed, src, n := pointer("codes"), pointer("missed"), pointer("src"), pointer("n")
	cut := XMM()
	VMOVQ(Load(Param("cut"), GP64()), cut)
	factor, lefts, numbers, all := words[1].spread("factor"), YMM(), YMM(), YMM()
	VMOVDQU(Mem{Base: pointer("lefts")}, lefts)
	VMOVDQU(Mem{Base: pointer("numbers")}, numbers)
	VPXOR(all, all, all)
	loop(n, step, func() {
		left := w.eightLefts(src, cut, all)
		at, found, high, bits := YMM(), YMM(), XMM(), GP32()
		VPMULLD(factor, left, at)
		VPSRLD(Imm(29), at, at)
		VPERMD(lefts, at, found)
		VPERMD(numbers, at, at)
		VPCMPEQD(found, left, found)
		VPAND(found, at, at)
		VEXTRACTI128(Imm(1), at, high)
		VPACKUSDW(high, at.AsX(), at.AsX())
		VMOVDQU(at.AsX(), Mem{Base: codes})
		VMOVMSKPS(found, bits)
		NOTL(bits)
		MOVB(bits.As8(), Mem{Base: missed})
		advance(step*w.bits/8, src)
		advance(2*step, codes)
		advance(1, missed)
	})
	Store(w.joined(all), ReturnIndex(0))
	finish()
}

// eightLefts gives the upper parts of eight values, and takes the values' bits into all.
func (w word) eightLefts(src GPVirtual, cut, all VecVirtual) VecVirtual {
	var parts [2]VecVirtual
	for i := range w.bits / 32 {
		parts[i] = YMM()
		VMOVDQU(Mem{Base: src, Disp: i * vector}, parts[i])
		VPOR(parts[i], all, all)
		w.right(cut, parts[i], parts[i])
	}
	if w.bits == 64 {
		VSHUFPS(Imm(0x88), parts[1], parts[0], parts[0])
		VPERMQ(Imm(0xd8), parts[0], parts[0])
	}
	return parts[0]
}

// joined is the bits that any word of a vector has.
func (w word) joined(v VecVirtual) GPVirtual {
	half, out := XMM(), GP64()
	VEXTRACTI128(Imm(1), v, half)
	VPOR(half, v.AsX(), half)
	quarter := XMM()
	VPSHUFD(Imm(0xee), half, quarter)
	VPOR(quarter, half, half)
	if w.bits == 32 {
		VPSHUFD(Imm(0x55), half, quarter)
		VPOR(quarter, half, half)
		VMOVD(half, out.As32())
		return out
	}
	VMOVQ(half, out)
	return out
}
