package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// alp32 writes the floats of ALP integers: converted, and multiplied twice, each operation rounded by itself. There must be no
// fused multiplication: its bits are others.
func alp32() {
	function("alp32AVX2", "func(dst, src *uint32, n int, f, e float32)",
		"alp32AVX2 writes the bits of float32(int32(src))·f·e for n values, a multiple of 8 above 0. dst may be src.")
	dst, src, n := pointer("dst"), pointer("src"), pointer("n")
	f, e := factor("f", VBROADCASTSS), factor("e", VBROADCASTSS)
	v := YMM()
	loop(n, vector/4, func() {
		VCVTDQ2PS(Mem{Base: src}, v)
		VMULPS(f, v, v)
		VMULPS(e, v, v)
		VMOVUPS(v, Mem{Base: dst})
		ADDQ(Imm(vector), src)
		ADDQ(Imm(vector), dst)
	})
	finish()
}

// alp64 is alp32 for 64 bits, for which AVX2 has no conversion. The halves of an integer are put into the significands of floats
// whose exponents fit (2^84 for the upper half, made positive by 2^63; 2^52 for the lower one). What is too much is taken
// off exactly, so that only the sum of the halves is rounded, as one conversion would.
func alp64() {
	function("alp64AVX2", "func(dst, src *uint64, n int, f, e float64)",
		"alp64AVX2 writes the bits of float64(int64(src))·f·e for n values, a multiple of 4 above 0. dst may be src.")
	dst, src, n := pointer("dst"), pointer("src"), pointer("n")
	f, e := factor("f", VBROADCASTSD), factor("e", VBROADCASTSD)
	high, low, extra := constant(0x4530000080000000), constant(0x4330000000000000), constant(0x4530000080100000)
	v, h := YMM(), YMM()
	loop(n, vector/8, func() {
		VMOVDQU(Mem{Base: src}, v)
		VPSRLQ(Imm(32), v, h)
		VPXOR(high, h, h)
		VPBLENDD(Imm(0xaa), low, v, v)
		VSUBPD(extra, h, h)
		VADDPD(v, h, h)
		VMULPD(f, h, h)
		VMULPD(e, h, h)
		VMOVUPD(h, Mem{Base: dst})
		ADDQ(Imm(vector), src)
		ADDQ(Imm(vector), dst)
	})
	finish()
}

// factor is a vector of copies of a float.
func factor(name string, broadcast func(ops ...Op)) VecVirtual {
	one, all := XMM(), YMM()
	Load(Param(name), one)
	broadcast(one, all)
	return all
}

// constant is a vector of copies of a number.
func constant(bits uint64) VecVirtual {
	r, one, all := GP64(), XMM(), YMM()
	MOVQ(U64(bits), r)
	VMOVQ(r, one)
	VPBROADCASTQ(one, all)
	return all
}

// glue64 puts the parts of ALP-RD together: the high parts are looked up by their 32-bit halves.
func glue64() {
	function("glue64AVX2", "func(dst, right *uint64, codes *uint16, high *uint64, n int) uint32",
		"glue64AVX2 writes high[code&7] | right for n values, a multiple of 4 above 0, and gives the largest code. dst may",
		"be right.")
	dst, right, codes, high, n := pointer("dst"), pointer("right"), pointer("codes"), pointer("high"), pointer("n")
	a, b, lower, upper := YMM(), YMM(), YMM(), YMM()
	VMOVDQU(Mem{Base: high}, a)
	VMOVDQU(Mem{Base: high, Disp: vector}, b)
	VSHUFPS(Imm(0x88), b, a, lower)
	VPERMQ(Imm(0xd8), lower, lower)
	VSHUFPS(Imm(0xdd), b, a, upper)
	VPERMQ(Imm(0xd8), upper, upper)
	top, at, l, h := YMM(), YMM(), YMM(), YMM()
	VPXOR(top, top, top)
	loop(n, vector/8, func() {
		VPMOVZXWQ(Mem{Base: codes}, at)
		VPMAXUD(at, top, top)
		VPSHUFD(Imm(0xa0), at, at)
		VPERMD(lower, at, l)
		VPERMD(upper, at, h)
		VPBLENDD(Imm(0xaa), h, l, l)
		VPOR(Mem{Base: right}, l, l)
		VMOVDQU(l, Mem{Base: dst})
		ADDQ(Imm(vector/4), codes)
		ADDQ(Imm(vector), right)
		ADDQ(Imm(vector), dst)
	})
	giveLargest(top)
	finish()
}

// glue32 is glue64 for 32 bits.
func glue32() {
	function("glue32AVX2", "func(dst, right *uint32, codes *uint16, high *uint32, n int) uint32",
		"glue32AVX2 writes high[code&7] | right for n values, a multiple of 8 above 0, and gives the largest code. dst may",
		"be right.")
	dst, right, codes, high, n := pointer("dst"), pointer("right"), pointer("codes"), pointer("high"), pointer("n")
	table, top, at := YMM(), YMM(), YMM()
	VMOVDQU(Mem{Base: high}, table)
	VPXOR(top, top, top)
	loop(n, vector/4, func() {
		VPMOVZXWD(Mem{Base: codes}, at)
		VPMAXUD(at, top, top)
		VPERMD(table, at, at)
		VPOR(Mem{Base: right}, at, at)
		VMOVDQU(at, Mem{Base: dst})
		ADDQ(Imm(vector/2), codes)
		ADDQ(Imm(vector), right)
		ADDQ(Imm(vector), dst)
	})
	giveLargest(top)
	finish()
}
