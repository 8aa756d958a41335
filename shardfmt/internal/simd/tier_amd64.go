//go:build !purego

package simd

import (
	"errors"

	"golang.org/x/sys/cpu"
)

// assembled is a tier in assembly, or why this machine doesn't have it. The flags are set only where the operating system
// keeps the wide registers, too.
//
// AVX-512 is the default where the processor also has VBMI2, of which the kernels use nothing: it marks the generation that doesn't lower
// its frequency much for vectors of 512 bits (Ice Lake, Sapphire Rapids, Zen 4 and on; not Skylake-X, Cascade Lake and Cooper Lake).
func assembled(name string) (*tier, error) {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasBMI2 || !x.HasPOPCNT:
		return nil, errors.New("this processor, or its operating system, has no AVX2, or no BMI2 with it")
	case name == avx2:
		return newAVX2(), nil
	case !x.HasAVX512F || !x.HasAVX512BW || !x.HasAVX512DQ || !x.HasAVX512VL:
		return nil, errors.New("this processor, or its operating system, has no AVX-512 with its parts F, BW, DQ and VL")
	}
	t := newAVX512()
	t.named = !x.HasAVX512VBMI2
	return t, nil
}

// newAVX2 is the generic tier with the functions of avx2_amd64.s (vectors_amd64.go).
func newAVX2() *tier {
	t := newGeneric()
	t.name, t.largest, t.fsst = avx2, largestAVX2, fsstBy
	t.withTexts(largestAVX2)
	t.floats32 = alpBy(alp32AVX2, 8, alpPower32[:], alpInverse32[:], alpFloats32)
	t.hashWords = hashBy(hashWordsAVX2, 4)
	t.floats64 = alpBy(alp64AVX2, 4, alpPower64[:], alpInverse64[:], alpFloats64)
	u8, u16, u32, u64 := &t.words.u8, &t.words.u16, &t.words.u32, &t.words.u64
	u16.unpack, u32.unpack, u64.unpack = unpackBy(unpack16AVX2), unpackBy(unpack32AVX2), unpackBy(unpack64AVX2)
	u16.vectors, u32.vectors, u64.vectors = true, true, true
	u16.pack, u32.pack, u64.pack = packBy(pack16AVX2), packBy(pack32AVX2), packBy(pack64AVX2)
	u32.prefixSum, u32.ramp = prefixSumBy(prefixSum32AVX2, 8), rampBy(ramp32AVX2, 8)
	u64.prefixSum, u64.ramp = prefixSumBy(prefixSum64AVX2, 4), rampBy(ramp64AVX2, 4)
	u16.widen8 = widenBy(widen8to16AVX2, 32)
	u32.widen8, u32.widen16 = widenBy(widen8to32AVX2, 16), widenBy(widen16to32AVX2, 16)
	u64.widen8, u64.widen16, u64.widen32 = widenBy(widen8to64AVX2, 8), widenBy(widen16to64AVX2, 8), widenBy(widen32to64AVX2, 8)
	u32.glue, u64.glue = glueVectors32AVX2, glueVectors64AVX2
	u8.runs, u16.runs, u32.runs, u64.runs = runsAVX2[uint8], runsAVX2[uint16], runsAVX2[uint32], runsAVX2[uint64]
	u32.gather, u64.gather = gatherBy(largestAVX2, gather32AVX2), gatherBy(largestAVX2, gather64AVX2)
	t.withStatistics()
	t.within = within{
		withinBy(withinI8AVX2), withinBy(withinI16AVX2), withinBy(withinI32AVX2), withinBy(withinU8AVX2), withinBy(withinU16AVX2),
		withinBy(withinU32AVX2), withinBy(withinU64AVX2), floatsWithinBy(withinF32AVX2), floatsWithinBy(withinF64AVX2),
	}
	t.withCompaction()
	return t
}

// newAVX512 is the generic tier with the functions of avx512_amd64.s: the same, of twice the width. Runs are filled as by AVX2.
func newAVX512() *tier {
	t := newGeneric()
	t.name, t.largest, t.fsst = avx512, largestAVX512, fsstBy
	t.withTexts(largestAVX512)
	t.floats32 = alpBy(alp32AVX512, 16, alpPower32[:], alpInverse32[:], alpFloats32)
	t.hashWords = hashBy(hashWordsAVX512, 8)
	t.floats64 = alpBy(alp64AVX512, 8, alpPower64[:], alpInverse64[:], alpFloats64)
	u8, u16, u32, u64 := &t.words.u8, &t.words.u16, &t.words.u32, &t.words.u64
	u16.unpack, u32.unpack, u64.unpack = unpackBy(unpack16AVX512), unpackBy(unpack32AVX512), unpackBy(unpack64AVX512)
	u16.vectors, u32.vectors, u64.vectors = true, true, true
	u16.pack, u32.pack, u64.pack = packBy(pack16AVX512), packBy(pack32AVX512), packBy(pack64AVX512)
	u32.prefixSum, u32.ramp = prefixSumBy(prefixSum32AVX512, 16), rampBy(ramp32AVX512, 16)
	u64.prefixSum, u64.ramp = prefixSumBy(prefixSum64AVX512, 8), rampBy(ramp64AVX512, 8)
	u16.widen8 = widenBy(widen8to16AVX512, 64)
	u32.widen8, u32.widen16 = widenBy(widen8to32AVX512, 32), widenBy(widen16to32AVX512, 32)
	u64.widen8, u64.widen16, u64.widen32 = widenBy(widen8to64AVX512, 16), widenBy(widen16to64AVX512, 16), widenBy(widen32to64AVX512, 16)
	u32.glue, u64.glue = glueVectors32AVX512, glueVectors64AVX512
	u8.runs, u16.runs, u32.runs, u64.runs = runsAVX2[uint8], runsAVX2[uint16], runsAVX2[uint32], runsAVX2[uint64]
	u32.gather, u64.gather = gatherBy(largestAVX512, gather32AVX2), gatherBy(largestAVX512, gather64AVX2)
	t.withStatistics()
	t.within = within{
		withinBy(withinI8AVX512), withinBy(withinI16AVX512), withinBy(withinI32AVX512), withinBy(withinU8AVX512), withinBy(withinU16AVX512),
		withinBy(withinU32AVX512), withinBy(withinU64AVX512), floatsWithinBy(withinF32AVX512), floatsWithinBy(withinF64AVX512),
	}
	t.withCompaction()
	return t
}
