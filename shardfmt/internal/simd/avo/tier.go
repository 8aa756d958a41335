package main

import (
	"flag"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// avx512 is whether the tier is that for AVX-512 (F, BW, DQ and VL), not AVX2. Most kernels are the same for both but for the
// vectors' width; where they aren't, they ask.
var avx512 = flag.Bool("avx512", false, "write the tier for AVX-512")

// compacting is whether only compaction is written, instead of all else.
var compacting = flag.Bool("compact", false, "write compaction, for AVX2")

// suffix ends the names of the tier's functions, and vector is the bytes of its vectors.
var suffix, vector = "AVX2", 32

func chooseTier() {
	if *avx512 {
		suffix, vector = "AVX512", 64
	}
}

// vec is a vector.
func vec() VecVirtual {
	if *avx512 {
		return ZMM()
	}
	return YMM()
}

// What moves or joins bits has other names in AVX-512, for there it may leave numbers out, which needs their width.

func move(from, to Op) {
	if *avx512 {
		VMOVDQU64(from, to)
		return
	}
	VMOVDQU(from, to)
}

func and(a, b, to Op) {
	if *avx512 {
		VPANDQ(a, b, to)
		return
	}
	VPAND(a, b, to)
}

func or(a, b, to Op) {
	if *avx512 {
		VPORQ(a, b, to)
		return
	}
	VPOR(a, b, to)
}

// zeros is a vector of zeros.
func zeros() VecVirtual {
	v := vec()
	if *avx512 {
		VPXORQ(v, v, v)
	} else {
		VPXOR(v, v, v)
	}
	return v
}

func xor(a, b, to Op) {
	if *avx512 {
		VPXORQ(a, b, to)
		return
	}
	VPXOR(a, b, to)
}
