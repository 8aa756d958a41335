package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// comparison is a type of numbers with the instruction that widens a vector of them to 64 bits.
type comparison struct {
	name, typ string
	size      int
	widen     func(ops ...Op)
}

var integers = []comparison{
	{"I8", "int8", 1, VPMOVSXBQ}, {"I16", "int16", 2, VPMOVSXWQ}, {"I32", "int32", 4, VPMOVSXDQ},
	{"U8", "uint8", 1, VPMOVZXBQ}, {"U16", "uint16", 2, VPMOVZXWQ}, {"U32", "uint32", 4, VPMOVZXDQ}, {"U64", "uint64", 8, func(ops ...Op) { move(ops[0], ops[1]) }},
}

var floats = []comparison{{"F32", "float32", 4, VCVTPS2PD}, {"F64", "float64", 8, func(ops ...Op) { VMOVUPD(ops[0], ops[1]) }}}

// within writes the comparison of integers with a range: one subtraction, and one comparison.
func (c comparison) within() {
	function("within"+c.name, fmt.Sprintf("func(dst *uint64, src *%s, words int, low, span uint64)", c.typ),
		"writes words above 0 of bits, one for each of 64 values a word: set where the value, widened, minus low is",
		"at most span.")
	dst, src, n := pointer("dst"), pointer("src"), pointer("words")
	if *avx512 {
		low, span := words[2].spread("low"), words[2].spread("span")
		const atMost = 2
		c.eachByte(dst, src, n, func(v VecVirtual, in Op) {
			VPSUBQ(low, v, v)
			VPCMPUQ(Imm(atMost), span, v, in)
		})
	} else {
		c.withinSigned(dst, src, n)
	}
	finish()
}

// withinSigned has only the comparison of signed numbers, and so the highest bit of both sides is turned around.
func (c comparison) withinSigned(dst, src, n GPVirtual) {
	top := constant(1 << 63)
	low, span := words[2].spread("low"), words[2].spread("span")
	VPXOR(top, low, low)
	VPXOR(top, span, span)
	c.eachWord(dst, src, n, func(v VecVirtual) {
		VPSUBQ(low, v, v)
		VPCMPGTQ(span, v, v)
	}, func(out GPVirtual) { NOTQ(out) })
}

// floatsWithin is within for floats; comparisons with a NaN are false.
func (c comparison) floatsWithin() {
	function("within"+c.name, fmt.Sprintf("func(dst *uint64, src *%s, words int, low, high float64)", c.typ),
		"writes words above 0 of bits, one for each of 64 values a word: set where low ≤ value ≤ high.")
	const atMost, atLeast = 0x12, 0x1d // ordered, quiet
	dst, src, n := pointer("dst"), pointer("src"), pointer("words")
	low, high := factor("low", VBROADCASTSD), factor("high", VBROADCASTSD)
	if *avx512 {
		above := K()
		c.eachByte(dst, src, n, func(v VecVirtual, in Op) {
			VCMPPD(Imm(atLeast), low, v, above)
			VCMPPD(Imm(atMost), high, v, above, in)
		})
	} else {
		c.eachWord(dst, src, n, func(v VecVirtual) {
			above := vec()
			VCMPPD(Imm(atLeast), low, v, above)
			VCMPPD(Imm(atMost), high, v, v)
			VANDPD(above, v, v)
		}, func(GPVirtual) {})
	}
	finish()
}

// eachWord makes a word of bits of each 64 values, four at a time: what compare leaves in the highest bits.
func (c comparison) eachWord(dst, src, n GPVirtual, compare func(v VecVirtual), end func(out GPVirtual)) {
	step := vector / 8
	loop(n, 1, func() {
		out := GP64()
		for i := 0; i < 64; i += step {
			v, four := vec(), GP64()
			c.widen(Mem{Base: src, Disp: i * c.size}, v)
			compare(v)
			VMOVMSKPD(v, four.As32())
			if i == 0 {
				MOVQ(four, out)
				continue
			}
			SHLQ(U8(i), four)
			ORQ(four, out)
		}
		end(out)
		MOVQ(out, Mem{Base: dst})
		advance(64*c.size, src)
		advance(8, dst)
	})
}

// eachByte is eachWord for AVX-512, where comparisons fill masks: of eight values, one byte.
func (c comparison) eachByte(dst, src, n GPVirtual, compare func(v VecVirtual, in Op)) {
	loop(n, 1, func() {
		for i := range 8 {
			v, in := vec(), K()
			c.widen(Mem{Base: src, Disp: 8 * i * c.size}, v)
			compare(v, in)
			KMOVB(in, Mem{Base: dst, Disp: i})
		}
		advance(64*c.size, src)
		advance(8, dst)
	})
}
