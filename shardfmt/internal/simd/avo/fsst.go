package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// fsst decodes sixteen codes at a time, with vectors only to see that all of them have symbols. Both tiers share it.
func fsst() {
	const step, symbol = 16, 8
	function("fsst", "func(dst, src *byte, room, n int, symbols *uint64, lengths *byte, count *byte) (written, read int)",
		"decodes codes while there are 16 more of n, all of them below count, and 128 more bytes of space, of which eight are written for each",
		"code. It gives how many bytes it wrote and read.")
	dst, src, room, n := pointer("dst"), pointer("src"), pointer("room"), pointer("n")
	symbols, lengths := pointer("symbols"), pointer("lengths")
	most := XMM()
	VPBROADCASTB(Mem{Base: pointer("count")}, most)
	begin, from := GP64(), GP64()
	MOVQ(dst, begin)
	MOVQ(src, from)
	ADDQ(dst, room) // the last places where a step may begin
	SUBQ(U32(step*symbol), room)
	ADDQ(src, n)
	SUBQ(U32(step), n)
	Label("loop")
	CMPQ(dst, room)
	JGT(LabelRef("done"))
	CMPQ(src, n)
	JGT(LabelRef("done"))
	codes, greater := XMM(), XMM()
	VMOVDQU(Mem{Base: src}, codes)
	VPMAXUB(codes, most, greater)
	VPCMPEQB(codes, greater, greater)
	VPTEST(greater, greater)
	JNZ(LabelRef("done"))
	for at := 0; at < step; at += 8 {
		eight := GP64()
		MOVQ(Mem{Base: src, Disp: at}, eight)
		for i := range 8 {
			code, text, length := GP64(), GP64(), GP64()
			MOVBLZX(eight.As8(), code.As32())
			MOVBLZX(Mem{Base: lengths, Index: code, Scale: 1}, length.As32())
			MOVQ(Mem{Base: symbols, Index: code, Scale: symbol}, text)
			MOVQ(text, Mem{Base: dst})
			ADDQ(length, dst)
			if i < 7 {
				SHRQ(Imm(8), eight)
			}
		}
	}
	advance(step, src)
	JMP(LabelRef("loop"))
	Label("done")
	SUBQ(begin, dst)
	SUBQ(from, src)
	Store(dst, ReturnIndex(0))
	Store(src, ReturnIndex(1))
	finish()
}
