package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// alp32 writes the floats of ALP integers: converted, and multiplied twice, each operation rounded by itself. There must be no
// fused multiplication: its bits are others.
func alp32() {
	step := vector / 4
	function("alp32", "func(dst, src *uint32, n int, f, e float32)",
		fmt.Sprintf("writes the bits of float32(int32(src))·f·e for n values, a multiple of %d above 0. dst may be src.", step))
	dst, src, n := pointer("dst"), pointer("src"), pointer("n")
	f, e := factor("f", VBROADCASTSS), factor("e", VBROADCASTSS)
	v := vec()
	loop(n, step, func() {
		VCVTDQ2PS(Mem{Base: src}, v)
		VMULPS(f, v, v)
		VMULPS(e, v, v)
		VMOVUPS(v, Mem{Base: dst})
		advance(vector, src, dst)
	})
	finish()
}

// alp64 is alp32 for 64 bits.
func alp64() {
	step := vector / 8
	function("alp64", "func(dst, src *uint64, n int, f, e float64)",
		fmt.Sprintf("writes the bits of float64(int64(src))·f·e for n values, a multiple of %d above 0. dst may be src.", step))
	dst, src, n := pointer("dst"), pointer("src"), pointer("n")
	f, e := factor("f", VBROADCASTSD), factor("e", VBROADCASTSD)
	convert := conversion64()
	loop(n, step, func() {
		v := convert(src)
		VMULPD(f, v, v)
		VMULPD(e, v, v)
		VMOVUPD(v, Mem{Base: dst})
		advance(vector, src, dst)
	})
	finish()
}

// conversion64 converts 64-bit integers to floats. AVX2 has no instruction for it: there the halves of an integer are put into
// the significands of floats whose exponents fit (2^84 for the upper half, made positive by 2^63; 2^52 for the lower one). What is
// too much is taken off exactly, so that only the sum of the halves is rounded, as one conversion would.
func conversion64() func(src Register) VecVirtual {
	if *avx512 {
		v := vec()
		return func(src Register) VecVirtual {
			VCVTQQ2PD(Mem{Base: src}, v)
			return v
		}
	}
	high, low, extra := constant(0x4530000080000000), constant(0x4330000000000000), constant(0x4530000080100000)
	v, h := vec(), vec()
	return func(src Register) VecVirtual {
		VMOVDQU(Mem{Base: src}, v)
		VPSRLQ(Imm(32), v, h)
		VPXOR(high, h, h)
		VPBLENDD(Imm(0xaa), low, v, v)
		VSUBPD(extra, h, h)
		VADDPD(v, h, h)
		return h
	}
}

// factor is a vector of copies of a float. It is broadcast from where it was passed: a load by an instruction of SSE, which Load would
// take, waits some hundred nanoseconds once vectors were in use (docs/design/kernels.md).
func factor(name string, broadcast func(ops ...Op)) VecVirtual {
	all := vec()
	at, err := Param(name).Resolve()
	if err != nil {
		panic(err) // no such parameter
	}
	broadcast(at.Addr, all)
	return all
}

// constant is a vector of copies of a number.
func constant(bits uint64) VecVirtual {
	r, one, all := GP64(), XMM(), vec()
	MOVQ(U64(bits), r)
	VMOVQ(r, one)
	VPBROADCASTQ(one, all)
	return all
}

// glue64 puts the parts of ALP-RD together.
func glue64() {
	step := vector / 8
	function("glue64", "func(dst, right *uint64, codes *uint16, high *uint64, n int) uint32",
		fmt.Sprintf("writes high[code&7] | right for n values, a multiple of %d above 0, and gives the largest code. dst may", step),
		"be right.")
	dst, right, codes, high, n := pointer("dst"), pointer("right"), pointer("codes"), pointer("high"), pointer("n")
	lookUp := table64(high)
	top, at := zeros(), vec()
	loop(n, step, func() {
		VPMOVZXWQ(Mem{Base: codes}, at)
		VPMAXUD(at, top, top)
		v := lookUp(at)
		or(Mem{Base: right}, v, v)
		move(v, Mem{Base: dst})
		advance(vector/4, codes)
		advance(vector, right, dst)
	})
	giveLargest(top)
	finish()
}

// table64 looks up 64-bit numbers, of eight: one vector of AVX-512, or for AVX2 their 32-bit halves.
func table64(high Register) func(at VecVirtual) VecVirtual {
	if *avx512 {
		table, v := vec(), vec()
		move(Mem{Base: high}, table)
		return func(at VecVirtual) VecVirtual {
			VPERMQ(table, at, v)
			return v
		}
	}
	a, b, lower, upper := vec(), vec(), vec(), vec()
	VMOVDQU(Mem{Base: high}, a)
	VMOVDQU(Mem{Base: high, Disp: vector}, b)
	VSHUFPS(Imm(0x88), b, a, lower)
	VPERMQ(Imm(0xd8), lower, lower)
	VSHUFPS(Imm(0xdd), b, a, upper)
	VPERMQ(Imm(0xd8), upper, upper)
	l, h := vec(), vec()
	return func(at VecVirtual) VecVirtual {
		VPSHUFD(Imm(0xa0), at, at)
		VPERMD(lower, at, l)
		VPERMD(upper, at, h)
		VPBLENDD(Imm(0xaa), h, l, l)
		return l
	}
}

// glue32 is glue64 for 32 bits. AVX-512 has the table twice in a vector.
func glue32() {
	step := vector / 4
	function("glue32", "func(dst, right *uint32, codes *uint16, high *uint32, n int) uint32",
		fmt.Sprintf("writes high[code&7] | right for n values, a multiple of %d above 0, and gives the largest code. dst may", step),
		"be right.")
	dst, right, codes, high, n := pointer("dst"), pointer("right"), pointer("codes"), pointer("high"), pointer("n")
	table, top, at := vec(), zeros(), vec()
	if *avx512 {
		VBROADCASTI32X8(Mem{Base: high}, table)
	} else {
		VMOVDQU(Mem{Base: high}, table)
	}
	loop(n, step, func() {
		VPMOVZXWD(Mem{Base: codes}, at)
		VPMAXUD(at, top, top)
		VPERMD(table, at, at)
		or(Mem{Base: right}, at, at)
		move(at, Mem{Base: dst})
		advance(vector/2, codes)
		advance(vector, right, dst)
	})
	giveLargest(top)
	finish()
}
