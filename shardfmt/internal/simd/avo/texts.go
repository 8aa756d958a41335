package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The functions here look up what has no width of a word, by codes that are known to be in range. Both tiers share them.

const codesStep = 8

// eachCode runs body for each of a step of codes.
func eachCode(codes Register, body func(i int, code GPVirtual)) {
	for i := 0; i < codesStep; i += 2 {
		first, second := GP64(), GP64()
		MOVQ(Mem{Base: codes, Disp: 4 * i}, second)
		MOVL(second.As32(), first.As32())
		SHRQ(Imm(32), second)
		body(i, first)
		body(i+1, second)
	}
}

// gather16Bytes looks up values of sixteen bytes.
func gather16Bytes() {
	function("gather16Bytes", "func(dst, dict *[16]byte, codes *uint32, n int)",
		fmt.Sprintf("fills dst with dict[code] of n codes, a multiple of %d above 0.", codesStep))
	dst, dict, codes, n := pointer("dst"), pointer("dict"), pointer("codes"), pointer("n")
	loop(n, codesStep, func() {
		eachCode(codes, func(i int, code GPVirtual) {
			v := XMM()
			SHLQ(Imm(4), code)
			VMOVDQU(Mem{Base: dict, Index: code, Scale: 1}, v)
			VMOVDQU(v, Mem{Base: dst, Disp: 16 * i})
		})
		advance(4*codesStep, codes)
		advance(16*codesStep, dst)
	})
	RET()
}

// textEnds sums lengths up.
func textEnds() {
	function("textEnds", "func(ends *int64, codes, lengths *uint32, n int, at int64)",
		fmt.Sprintf("writes where the texts of n codes, a multiple of %d above 0, end, of which the first begins at a place.", codesStep))
	ends, codes, lengths, n, at := pointer("ends"), pointer("codes"), pointer("lengths"), pointer("n"), pointer("at")
	loop(n, codesStep, func() {
		eachCode(codes, func(i int, code GPVirtual) {
			MOVL(Mem{Base: lengths, Index: code, Scale: 4}, code.As32())
			ADDQ(code, at)
			MOVQ(at, Mem{Base: ends, Disp: 8 * i})
		})
		advance(4*codesStep, codes)
		advance(8*codesStep, ends)
	})
	RET()
}

// gatherTexts copies so many bytes of each text, of which the next one writes over what is too much.
func gatherTexts(size int) {
	function(fmt.Sprintf("gatherTexts%d", size), "func(dst *byte, offsets *int64, codes *uint32, starts *int64, text *byte, n int)",
		fmt.Sprintf("copies %d bytes from text[starts[code]] to dst[offset] for n codes, a multiple of %d above 0, one after the other.", size, codesStep))
	dst, offsets, codes := pointer("dst"), pointer("offsets"), pointer("codes")
	starts, text, n := pointer("starts"), pointer("text"), pointer("n")
	loop(n, codesStep, func() {
		eachCode(codes, func(i int, code GPVirtual) {
			to := GP64()
			var v VecVirtual = XMM()
			if size == 32 {
				v = YMM()
			}
			MOVQ(Mem{Base: starts, Index: code, Scale: 8}, code)
			MOVQ(Mem{Base: offsets, Disp: 8 * i}, to)
			VMOVDQU(Mem{Base: text, Index: code, Scale: 1}, v)
			VMOVDQU(v, Mem{Base: dst, Index: to, Scale: 1})
		})
		advance(4*codesStep, codes)
		advance(8*codesStep, offsets)
	})
	finish()
}

// moveEndsStep is how many ends moveEnds takes at a time: two vectors.
const moveEndsStep = 8

// moveEnds moves the ends of texts, and holds each against the one behind it before that is moved.
func moveEnds() {
	function("moveEnds", "func(ends *int64, n int, by int64) uint32",
		fmt.Sprintf("adds a number to n ends, a multiple of %d above 0, of which there is one more, and gives 0 if none of the n is negative or above", moveEndsStep),
		"the one behind it.")
	ends, n, by := pointer("ends"), pointer("n"), XMM()
	VMOVQ(pointer("by"), by)
	add, fell := YMM(), YMM()
	VPBROADCASTQ(by, add)
	VPXOR(fell, fell, fell)
	loop(n, moveEndsStep, func() {
		for at := 0; at < 8*moveEndsStep; at += vector {
			these, next := YMM(), YMM()
			VMOVDQU(Mem{Base: ends, Disp: at}, these)
			VMOVDQU(Mem{Base: ends, Disp: at + 8}, next)
			VPSUBQ(these, next, next)
			VPOR(these, fell, fell)
			VPOR(next, fell, fell)
			VPADDQ(add, these, these)
			VMOVDQU(these, Mem{Base: ends, Disp: at})
		}
		advance(8*moveEndsStep, ends)
	})
	signs := GP32()
	VMOVMSKPD(fell, signs)
	Store(signs, ReturnIndex(0))
	finish()
}
