package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// comparison is a type of numbers with the instruction that widens four of them to 64 bits.
type comparison struct {
	name, typ string
	size      int
	widen     func(ops ...Op)
}

var integers = []comparison{
	{"I8", "int8", 1, VPMOVSXBQ}, {"I16", "int16", 2, VPMOVSXWQ}, {"I32", "int32", 4, VPMOVSXDQ},
	{"U8", "uint8", 1, VPMOVZXBQ}, {"U16", "uint16", 2, VPMOVZXWQ}, {"U32", "uint32", 4, VPMOVZXDQ}, {"U64", "uint64", 8, func(ops ...Op) { VMOVDQU(ops[0], ops[1]) }},
}

var floats = []comparison{{"F32", "float32", 4, VCVTPS2PD}, {"F64", "float64", 8, func(ops ...Op) { VMOVUPD(ops[0], ops[1]) }}}

// within writes the comparison of integers with a range: one subtraction, and one comparison, for which both sides have
// their highest bit turned around, since there is only one of signed numbers.
func (c comparison) within() {
	function("within"+c.name+"AVX2", fmt.Sprintf("func(dst *uint64, src *%s, words int, low, span uint64)", c.typ),
		fmt.Sprintf("within%sAVX2 writes words above 0 of bits, one for each of 64 values a word: set where the value, widened, minus low is", c.name),
		"at most span.")
	dst, src, n := pointer("dst"), pointer("src"), pointer("words")
	top := constant(1 << 63)
	low, span := words[2].spread("low"), words[2].spread("span")
	VPXOR(top, low, low)
	VPXOR(top, span, span)
	c.eachWord(dst, src, n, func(v VecVirtual) {
		VPSUBQ(low, v, v)
		VPCMPGTQ(span, v, v)
	}, func(out GPVirtual) { NOTQ(out) })
	finish()
}

// floatsWithin is within for floats; comparisons with a NaN are false.
func (c comparison) floatsWithin() {
	function("within"+c.name+"AVX2", fmt.Sprintf("func(dst *uint64, src *%s, words int, low, high float64)", c.typ),
		fmt.Sprintf("within%sAVX2 writes words above 0 of bits, one for each of 64 values a word: set where low ≤ value ≤ high.", c.name))
	const atMost, atLeast = 0x12, 0x1d // ordered, quiet
	dst, src, n := pointer("dst"), pointer("src"), pointer("words")
	low, high := factor("low", VBROADCASTSD), factor("high", VBROADCASTSD)
	c.eachWord(dst, src, n, func(v VecVirtual) {
		above := YMM()
		VCMPPD(Imm(atLeast), low, v, above)
		VCMPPD(Imm(atMost), high, v, v)
		VANDPD(above, v, v)
	}, func(GPVirtual) {})
	finish()
}

// eachWord makes a word of bits of each 64 values, four at a time: what compare leaves in the highest bits.
func (c comparison) eachWord(dst, src, n GPVirtual, compare func(v VecVirtual), end func(out GPVirtual)) {
	const step = vector / 8
	loop(n, 1, func() {
		out := GP64()
		for i := 0; i < 64; i += step {
			v, four := YMM(), GP64()
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
		ADDQ(U32(64*c.size), src)
		ADDQ(Imm(8), dst)
	})
}
