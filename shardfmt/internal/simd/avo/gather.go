package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// gather looks numbers up without vectors: it loads two codes at once, and has no more of a loop than every eighth time. The tiers share it.
func gather(w word) {
	const step = 8
	function(fmt.Sprintf("gather%d", w.bits), fmt.Sprintf("func(dst, dict *uint%d, codes *uint32, n int)", w.bits),
		fmt.Sprintf("fills dst with dict[code] of n codes, a multiple of %d above 0.", step))
	dst, dict, codes, n := pointer("dst"), pointer("dict"), pointer("codes"), pointer("n")
	size := w.bits / 8
	loop(n, step, func() {
		for i := 0; i < step; i += 2 {
			first, second := GP64(), GP64()
			MOVQ(Mem{Base: codes, Disp: 4 * i}, second)
			MOVL(second.As32(), first.As32())
			SHRQ(Imm(32), second)
			for j, at := range []GPVirtual{first, second} {
				from, to := Mem{Base: dict, Index: at, Scale: uint8(size)}, Mem{Base: dst, Disp: (i + j) * size}
				if w.bits == 64 {
					MOVQ(from, at)
					MOVQ(at, to)
				} else {
					MOVL(from, at.As32())
					MOVL(at.As32(), to)
				}
			}
		}
		advance(4*step, codes)
		advance(step*size, dst)
	})
	RET()
}
