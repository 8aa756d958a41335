package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// widening is a sign extension from narrow to wide bits.
type widening struct {
	narrow, wide int
	extend       func(ops ...Op)
}

var widenings = []widening{
	{8, 16, VPMOVSXBW}, {8, 32, VPMOVSXBD}, {8, 64, VPMOVSXBQ},
	{16, 32, VPMOVSXWD}, {16, 64, VPMOVSXWQ}, {32, 64, VPMOVSXDQ},
}

// widen writes a sign extension of two vectors a turn. All are read before one is written, so that the narrow numbers may
// lie at the tail of the wide ones: there the write never overtakes the read.
func widen(w widening) {
	step := 2 * vector * 8 / w.wide // values a turn
	function(fmt.Sprintf("widen%dto%d", w.narrow, w.wide), fmt.Sprintf("func(dst *uint%d, src *uint%d, n int)", w.wide, w.narrow),
		fmt.Sprintf("widens n numbers of two's complement, a multiple of %d above 0.", step))
	dst, src, n := pointer("dst"), pointer("src"), pointer("n")
	first, second := vec(), vec()
	loop(n, step, func() {
		w.extend(Mem{Base: src}, first)
		w.extend(Mem{Base: src, Disp: step * w.narrow / 16}, second)
		move(first, Mem{Base: dst})
		move(second, Mem{Base: dst, Disp: vector})
		ADDQ(U32(step*w.narrow/8), src)
		ADDQ(U32(2*vector), dst)
	})
	finish()
}
