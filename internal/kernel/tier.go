package kernel

import "os"

// unpackers are the kernels that unpack one chunk, by packed width (1..B). The chunk holds 128·width bytes;
// the function may read and write nothing else.
type unpackers[U Unsigned] [65]func(dst *[ChunkLen]U, chunk []byte, ref U)

// kernels are the functions for one word width.
type kernels[U Unsigned] struct {
	unpack    unpackers[U] // with a reference of 0
	unpackFOR unpackers[U]
	prefixSum func(dst, src []U, base U)
	runs      func(dst, values []U, lengths []uint32) bool
	gather    func(dst, dict []U, codes []uint32) bool
}

// tier is a table of functions for a kind of processor. Decoders call the active tier's and don't know
// which it is, so assembly can be added by another table.
type tier struct {
	name  string
	words struct {
		u8  kernels[uint8]
		u16 kernels[uint16]
		u32 kernels[uint32]
		u64 kernels[uint64]
	}
	floats32 func(dst, src []uint32, exponent, factor int)
	floats64 func(dst, src []uint64, exponent, factor int)
}

// The tiers: generic is pure Go on 64-bit words (SWAR), portable the plain loops, for big-endian machines
// and as the measure of all others.
var (
	generic  = newGeneric()
	portable = newPortable()
	active   = choose(os.Getenv("SHARDCAT_CPU"))
)

// choose picks the tier that the environment variable SHARDCAT_CPU names ("generic", "portable"), or the
// best for this machine when it names none.
func choose(name string) *tier {
	if !littleEndian || name == portable.name {
		return portable
	}
	return generic
}

// Tier is the name of the table of functions in use.
func Tier() string { return active.name }

// of is the active functions for U.
func of[U Unsigned]() *kernels[U] { return in[U](active) }

// in is the functions of a tier for U.
func in[U Unsigned](t *tier) *kernels[U] {
	var u U
	switch any(u).(type) {
	case uint8:
		return any(&t.words.u8).(*kernels[U])
	case uint16:
		return any(&t.words.u16).(*kernels[U])
	case uint32:
		return any(&t.words.u32).(*kernels[U])
	}
	return any(&t.words.u64).(*kernels[U])
}

func newGeneric() *tier {
	t := &tier{name: "generic", floats32: alpFloats32, floats64: alpFloats64}
	t.words.u8 = genericKernels(unpack8, unpackFOR8)
	t.words.u16 = genericKernels(unpack16, unpackFOR16)
	t.words.u32 = genericKernels(unpack32, unpackFOR32)
	t.words.u64 = genericKernels(unpackFOR64, unpackFOR64)
	return t
}

func genericKernels[U Unsigned](unpack, unpackFOR unpackers[U]) kernels[U] {
	return kernels[U]{unpack, unpackFOR, prefixSum[U], expandRuns[U], gather[U]}
}

func newPortable() *tier {
	t := &tier{name: "portable", floats32: alpFloats32, floats64: alpFloats64}
	t.words.u8 = portableKernels[uint8]()
	t.words.u16 = portableKernels[uint16]()
	t.words.u32 = portableKernels[uint32]()
	t.words.u64 = portableKernels[uint64]()
	return t
}

func portableKernels[U Unsigned]() kernels[U] {
	k := kernels[U]{prefixSum: prefixSumPortable[U], runs: expandRuns[U], gather: gather[U]}
	for width := 1; width <= 8*SizeOf[U](); width++ {
		k.unpackFOR[width] = func(dst *[ChunkLen]U, chunk []byte, ref U) { unpackPortable(dst, chunk, width, ref) }
		k.unpack[width] = func(dst *[ChunkLen]U, chunk []byte, _ U) { unpackPortable(dst, chunk, width, 0) }
	}
	return k
}
