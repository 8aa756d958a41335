package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// prime is the factor of XXH3 for texts of 4 to 8 bytes.
const prime = 0x9fb21c651e98df25

// hashWords writes the hash of words, XXH3's for texts of eight bytes.
func hashWords() {
	step := vector / 8
	function("hashWords", "func(dst, src *uint64, n int, secret uint64)",
		fmt.Sprintf("writes the hashes of n words, a multiple of %d above 0, with what the seed has made of the secret. dst may be src.", step))
	dst, src, n := pointer("dst"), pointer("src"), pointer("n")
	secret := words[2].spread("secret")
	length, times := constant(8), multiplier(prime)
	loop(n, step, func() {
		h, a, b := vec(), vec(), vec()
		move(Mem{Base: src}, h)
		rotate(32, h, h)
		xor(secret, h, h)
		rotate(49, h, a)
		rotate(24, h, b)
		xor(a, h, h)
		xor(b, h, h)
		times(h)
		VPSRLQ(Imm(35), h, a)
		VPADDQ(length, a, a)
		xor(a, h, h)
		times(h)
		VPSRLQ(Imm(28), h, a)
		xor(a, h, h)
		move(h, Mem{Base: dst})
		advance(vector, src, dst)
	})
	finish()
}

// rotate turns words of 64 bits to the left.
func rotate(by uint64, v, to VecVirtual) {
	if *avx512 {
		VPROLQ(Imm(by), v, to)
		return
	}
	if by == 32 {
		VPSHUFD(Imm(0xb1), v, to)
		return
	}
	right := vec()
	VPSRLQ(Imm(64-by), v, right)
	VPSLLQ(Imm(by), v, to)
	VPOR(right, to, to)
}

// multiplier multiplies words by a number, modulo 2^64. AVX2 has only products of 32 bits each.
func multiplier(factor uint64) func(h VecVirtual) {
	low := constant(factor)
	if *avx512 {
		return func(h VecVirtual) { VPMULLQ(low, h, h) }
	}
	high := constant(factor >> 32)
	return func(h VecVirtual) {
		upper, cross := vec(), vec()
		VPSRLQ(Imm(32), h, upper)
		VPMULUDQ(low, upper, upper)
		VPMULUDQ(high, h, cross)
		VPADDQ(cross, upper, upper)
		VPSLLQ(Imm(32), upper, upper)
		VPMULUDQ(low, h, h)
		VPADDQ(upper, h, h)
	}
}
