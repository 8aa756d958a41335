package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// word is an element width of FastLanes chunks with the instructions for vectors of it.
type word struct {
	bits                        int
	right, left, add, broadcast func(ops ...Op)
	align, permute              func(ops ...Op) // of whole vectors, in AVX-512
	rightBy, leftBy             func(ops ...Op) // shifts by a vector of counts; 16 bits have them in AVX-512 only
}

// last repeats the last number of each half of a vector of AVX2.
func (w word) last(v VecVirtual) {
	if w.bits == 64 {
		VPSHUFD(Imm(0xee), v, v)
		return
	}
	VPSHUFD(Imm(0xff), v, v)
}

// There are no shifts of bytes: u8 stays with the words of pure Go.
var words = []word{
	{16, VPSRLW, VPSLLW, VPADDW, VPBROADCASTW, nil, nil, VPSRLVW, VPSLLVW},
	{32, VPSRLD, VPSLLD, VPADDD, VPBROADCASTD, VALIGND, VPERMD, VPSRLVD, VPSLLVD},
	{64, VPSRLQ, VPSLLQ, VPADDQ, VPBROADCASTQ, VALIGNQ, VPERMQ, VPSRLVQ, VPSLLVQ},
}

const (
	rowBytes = 128 // of packed words: one word of every lane
	rowStep  = 8   // rows of a group
	groupLen = 16  // values between neighbours in laneOrder
	stepLen  = 128 // values from a row to the next of its group
)

// laneOrder is the order in which groups of eight rows come in the values.
var laneOrder = []int{0, 4, 2, 6, 1, 5, 3, 7}

// unpack writes the unpacker of a chunk, one loop for all packed widths: each row is the shifted words at hand, with
// the bits that the next words have of it, cut by a mask. Where a row ends with its words, the next are taken in all the
// same (the mask cuts them off), but for the last row: behind it the chunk ends.
func unpack(w word) {
	function(fmt.Sprintf("unpack%d", w.bits), fmt.Sprintf("func(dst *uint%d, chunk *byte, width, mask, ref uint64)", w.bits),
		"unpacks the 128·width bytes of a chunk into 1024 values, each cut by mask, with ref added. width is",
		fmt.Sprintf("1..%d, mask has the low width bits.", w.bits))
	dst, src, width := GP64(), GP64(), GP64()
	Load(Param("dst"), dst)
	Load(Param("chunk"), src)
	Load(Param("width"), width)
	mask, ref := w.spread("mask"), w.spread("ref")

	end, shift, after := GP64(), GP64(), GP64()
	MOVQ(width, end)
	SHLQ(Imm(7), end)
	ADDQ(src, end)
	XORQ(shift, shift)
	var at, row []VecVirtual
	for range rowBytes / vector {
		at, row = append(at, vec()), append(row, vec())
	}
	load(at, src)
	shifts := w.shifts()
	rows, to := GP64(), GP64()
	for group := range w.bits / rowStep {
		loop, store := fmt.Sprintf("rows%d", group), fmt.Sprintf("store%d", group)
		LEAQ(Mem{Base: dst, Disp: laneOrder[group] * groupLen * w.bits / 8}, to)
		MOVQ(U32(rowStep), rows)
		Label(loop)
		Comment("The words at hand, shifted")
		shifts.right(shift, at, row)
		LEAQ(Mem{Base: shift, Index: width, Scale: 1}, after)
		MOVQ(after, shift)
		shifts.next()
		CMPQ(after, Imm(uint64(w.bits)))
		JB(LabelRef(store))
		Comment("They are used up: the next, unless the chunk ends")
		SUBQ(Imm(uint64(w.bits)), shift)
		CMPQ(src, end)
		JE(LabelRef(store))
		load(at, src)
		shifts.left(at, row)
		Label(store)
		for i := range row {
			and(mask, row[i], row[i])
			w.add(ref, row[i], row[i])
			move(row[i], Mem{Base: to, Disp: i * vector})
		}
		ADDQ(U32(stepLen*w.bits/8), to)
		DECQ(rows)
		JNZ(LabelRef(loop))
	}
	finish()
}

// shifts are the two shifts of a row: by counts in vectors, which spares the move of a count, and a part of each shift; or where there
// are none, by a register.
type shifts struct {
	right func(by GPVirtual, at, row []VecVirtual)
	next  func()                     // after each row
	left  func(at, row []VecVirtual) // of the next words, into the row
}

func (w word) shifts() shifts {
	if w.bits == 16 && !*avx512 {
		return w.shiftsByRegister()
	}
	bits := uint64(w.bits) * (^uint64(0) / (1<<w.bits - 1)) // in each number of a word of 64 bits
	by, width, all, back := zeros(), w.spread("width"), constant(bits), vec()
	s := shifts{next: func() { w.add(width, by, by) }}
	s.right = func(_ GPVirtual, at, row []VecVirtual) {
		for i := range row {
			w.rightBy(by, at[i], row[i])
		}
	}
	s.left = func(at, row []VecVirtual) {
		w.subtract(all, by, by)     // what is left of the count
		w.subtract(by, width, back) // of the width, the bits that the words before had
		for i := range row {
			high := vec()
			w.leftBy(back, at[i], high)
			or(high, row[i], row[i])
		}
	}
	return s
}

func (w word) shiftsByRegister() shifts {
	by, back, rest := XMM(), XMM(), GP64()
	s := shifts{next: func() {}}
	s.right = func(shift GPVirtual, at, row []VecVirtual) {
		MOVQ(U32(w.bits), rest)
		SUBQ(shift, rest)
		VMOVQ(shift, by)
		for i := range row {
			w.right(by, at[i], row[i])
		}
	}
	s.left = func(at, row []VecVirtual) {
		VMOVQ(rest, back)
		for i := range row {
			high := vec()
			w.left(back, at[i], high)
			or(high, row[i], row[i])
		}
	}
	return s
}

// load takes a row of packed words.
func load(at []VecVirtual, src Register) {
	for i := range at {
		move(Mem{Base: src, Disp: i * vector}, at[i])
	}
	ADDQ(Imm(rowBytes), src)
}

// spread is a vector of copies of a parameter of 64 bits, of which each takes the low ones.
func (w word) spread(name string) VecVirtual {
	one, all := XMM(), vec()
	VMOVQ(Load(Param(name), GP64()), one)
	w.broadcast(one, all)
	return all
}
