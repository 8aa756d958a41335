package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// pack writes the packer of a chunk, the way back of unpack: each row of values is shifted behind those before it in the words at hand; where they are
// full they are written, and what is left of the row begins the next.
func pack(w word) {
	function(fmt.Sprintf("pack%d", w.bits), fmt.Sprintf("func(chunk *byte, src *uint%d, width, mask, ref uint64)", w.bits),
		"packs 1024 values, each less ref and cut by mask, into the 128·width bytes of a chunk. width is",
		fmt.Sprintf("1..%d, mask has the low width bits.", w.bits))
	chunk, src, width, shift := pointer("chunk"), pointer("src"), pointer("width"), GP64()
	mask, ref := w.spread("mask"), w.spread("ref")
	XORQ(shift, shift)
	var acc, row []VecVirtual
	for range rowBytes / vector {
		acc, row = append(acc, zeros()), append(row, vec())
	}
	by := w.packShifts()
	rows, from := GP64(), GP64()
	for group := range w.bits / rowStep {
		loop, next := fmt.Sprintf("rows%d", group), fmt.Sprintf("next%d", group)
		LEAQ(Mem{Base: src, Disp: laneOrder[group] * groupLen * w.bits / 8}, from)
		MOVQ(U32(rowStep), rows)
		Label(loop)
		for i := range row {
			move(Mem{Base: from, Disp: i * vector}, row[i])
			w.subtract(ref, row[i], row[i])
			and(mask, row[i], row[i])
		}
		by.left(shift, row, acc)
		ADDQ(width, shift)
		CMPQ(shift, Imm(uint64(w.bits)))
		JB(LabelRef(next))
		Comment("The words are full")
		for i := range acc {
			move(acc[i], Mem{Base: chunk, Disp: i * vector})
		}
		ADDQ(Imm(rowBytes), chunk)
		SUBQ(Imm(uint64(w.bits)), shift)
		by.rest(width, shift, row, acc)
		Label(next)
		ADDQ(U32(stepLen*w.bits/8), from)
		DECQ(rows)
		JNZ(LabelRef(loop))
	}
	finish()
}

// packShifts are the two shifts of a row: to its place in the words at hand, and of what they had no room for to the start of the next.
type packShifts struct {
	left func(by GPVirtual, row, acc []VecVirtual)
	rest func(width, by GPVirtual, row, acc []VecVirtual)
}

func (w word) packShifts() packShifts {
	count, rest := XMM(), GP64()
	return packShifts{
		left: func(by GPVirtual, row, acc []VecVirtual) {
			VMOVQ(by, count)
			for i := range row {
				shifted := vec()
				w.left(count, row[i], shifted)
				or(shifted, acc[i], acc[i])
			}
		},
		rest: func(width, by GPVirtual, row, acc []VecVirtual) {
			MOVQ(width, rest)
			SUBQ(by, rest)
			VMOVQ(rest, count)
			for i := range row {
				w.right(count, row[i], acc[i])
			}
		},
	}
}
