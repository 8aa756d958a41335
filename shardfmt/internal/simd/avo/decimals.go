package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// decimals64 is the way back of alp64, of AVX2 alone; the tier of AVX-512 takes it too. Each operation is rounded by itself.
func decimals64() {
	const step = 8
	function("decimals64", "func(dst *uint64, missed *byte, src *uint64, n int, factors *[4]float64)",
		"writes the integers of n floats, a multiple of 8 above 0: multiplied by the first two factors and rounded. missed gets a bit for each that",
		"has no integer below 2^51, or that doesn't come back to its bits when multiplied by the other two; the integer is of no use then.")
	dst, missed, src, n, from := pointer("dst"), pointer("missed"), pointer("src"), pointer("n"), pointer("factors")
	var factors [4]VecVirtual
	for i := range factors {
		factors[i] = YMM()
		VBROADCASTSD(Mem{Base: from, Disp: 8 * i}, factors[i])
	}
	const magic, limit, less = 0x4338000000000000, 0x4320000000000000, 0x11 // 3·2^51, 2^51, ordered and quiet
	round, below, magnitude := constant(magic), constant(limit), constant(1<<63-1)
	loop(n, step, func() {
		var found [2]GPVirtual
		for half := range found {
			v, x, whole, small := YMM(), YMM(), YMM(), YMM()
			VMOVUPD(Mem{Base: src, Disp: half * vector}, v)
			VMULPD(factors[0], v, x)
			VMULPD(factors[1], x, x)
			VADDPD(round, x, x)
			VPSUBQ(round, x, whole)
			VMOVDQU(whole, Mem{Base: dst, Disp: half * vector})
			VSUBPD(round, x, x)
			VANDPD(magnitude, x, small)
			VCMPPD(Imm(less), below, small, small)
			VMULPD(factors[2], x, x)
			VMULPD(factors[3], x, x)
			VPCMPEQQ(v, x, x)
			VANDPD(small, x, x)
			found[half] = GP64()
			VMOVMSKPD(x, found[half].As32())
		}
		SHLQ(U8(4), found[1])
		ORQ(found[1], found[0])
		NOTQ(found[0])
		MOVB(found[0].As8(), Mem{Base: missed})
		advance(2*vector, src, dst)
		advance(1, missed)
	})
	finish()
}
