//go:build !purego

package kernel

import (
	"errors"

	"golang.org/x/sys/cpu"
)

// assembled is the tier in assembly, or why this machine has none. The flag is set only where the operating system
// keeps the wide registers, too.
func assembled() (*tier, error) {
	if !cpu.X86.HasAVX2 {
		return nil, errors.New("this processor, or its operating system, has no AVX2")
	}
	return newAVX2(), nil
}

// newAVX2 is the generic tier with the functions of avx2_amd64.s (vectors_amd64.go).
func newAVX2() *tier {
	t := newGeneric()
	t.name, t.largest = avx2, largestAVX2
	t.floats32, t.floats64 = floats32AVX2, floats64AVX2
	u8, u16, u32, u64 := &t.words.u8, &t.words.u16, &t.words.u32, &t.words.u64
	u16.unpack = unpackBy(unpack16AVX2)
	u32.unpack = unpackBy(unpack32AVX2)
	u64.unpack = unpackBy(unpack64AVX2)
	u32.prefixSum, u32.ramp = prefixSumBy(prefixSum32AVX2, 8), rampBy(ramp32AVX2, 8)
	u64.prefixSum, u64.ramp = prefixSumBy(prefixSum64AVX2, 4), rampBy(ramp64AVX2, 4)
	u16.widen8 = widenBy(widen8to16AVX2, 32)
	u32.widen8, u32.widen16 = widenBy(widen8to32AVX2, 16), widenBy(widen16to32AVX2, 16)
	u64.widen8, u64.widen16, u64.widen32 = widenBy(widen8to64AVX2, 8), widenBy(widen16to64AVX2, 8), widenBy(widen32to64AVX2, 8)
	u32.glue, u64.glue = glueVectors32, glueVectors64
	u8.runs, u16.runs, u32.runs, u64.runs = runsAVX2[uint8], runsAVX2[uint16], runsAVX2[uint32], runsAVX2[uint64]
	u32.gather, u64.gather = gatherAVX2[uint32], gatherAVX2[uint64]
	t.within = within{
		withinBy(withinI8AVX2), withinBy(withinI16AVX2), withinBy(withinI32AVX2), withinBy(withinU8AVX2), withinBy(withinU16AVX2),
		withinBy(withinU32AVX2), withinBy(withinU64AVX2), floatsWithinBy(withinF32AVX2), floatsWithinBy(withinF64AVX2),
	}
	return t
}
