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

// newAVX2 is the generic tier with the functions of avx2_amd64.s. Those take whole vectors; ends are left to the
// loops in Go, so that no byte outside a slice is touched.
func newAVX2() *tier {
	t := newGeneric()
	t.name = avx2
	t.words.u16.unpack = unpackVectors(unpack16AVX2)
	t.words.u32.unpack = unpackVectors(unpack32AVX2)
	t.words.u64.unpack = unpackVectors(unpack64AVX2)
	return t
}

// unpackVectors checks the chunk for an unpacker.
func unpackVectors[U Unsigned](unpack func(dst *U, chunk *byte, width, mask, ref uint64)) func(*[ChunkLen]U, []byte, int, U) {
	return func(dst *[ChunkLen]U, chunk []byte, width int, ref U) {
		chunk = chunk[:ChunkBytes(width)]
		unpack(&dst[0], &chunk[0], uint64(width), lowBits(width), uint64(ref))
	}
}
