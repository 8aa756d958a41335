package stats

import (
	"math/bits"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// Most of what is counted are words of 8 and decimals of 16 bytes, each by a call of XXH3-64 for texts of any length. These
// are its ways for the two lengths (XXH3 of Yann Collet, the lengths 4 to 8 and 9 to 16), for the seed of the sketches; tests hold them to the library.

// The parts of XXH3's secret that texts of these lengths are mixed with, by the place of their first byte.
const (
	secret8  = 0x1cad21f72c81017c
	secret16 = 0xdb979083e96dd4de
	secret24 = 0x1f67b3b7a4a44072
	secret32 = 0x78e5c0cc4ee679cb
	secret40 = 0x2172ffcc7dd05a82
	secret48 = 0x8e2443f7744608b8
)

// sketchWord is xxh3.HashSeed of the eight little-endian bytes of v with sketchSeed.
func sketchWord(v uint64) uint64 { return simd.HashWord(v, wordSecret) }

// wordSecret is the secret of XXH3 for words with sketchSeed, whose upper half is mixed with the lower one, turned around.
var wordSecret = func() uint64 {
	seed := uint64(sketchSeed)
	seed ^= uint64(bits.ReverseBytes32(uint32(seed))) << 32
	return secret8 ^ secret16 - seed
}()

// sketchTwo is xxh3.HashSeed of 16 bytes, given as two little-endian words, with sketchSeed.
func sketchTwo(low, high uint64) uint64 {
	seed := uint64(sketchSeed)
	low ^= secret24 ^ secret32 + seed
	high ^= secret40 ^ secret48 - seed
	upper, lower := bits.Mul64(low, high)
	h := 16 + bits.ReverseBytes64(low) + high + (upper ^ lower)
	h ^= h >> 37
	h *= 0x165667919e3779f9
	return h ^ h>>32
}

// sketchHash is xxh3.HashSeed of a value with sketchSeed.
func sketchHash(value []byte) uint64 { return xxh3.HashSeed(value, sketchSeed) }
