package simd

import "math/bits"

// HashWords writes the hash of each word of src to dst, which is as long and may be the same: that of XXH3 with 64 bits (Yann Collet), of the word's eight
// little-endian bytes. secret is the rest of its secret and seed for texts of that length.
func HashWords(dst, src []uint64, secret uint64) { active.hashWords(dst[:len(src)], src, secret) }

func hashWords(dst, src []uint64, secret uint64) {
	for i, v := range src[:len(dst)] {
		dst[i] = HashWord(v, secret)
	}
}

// HashWord is HashWords of one word.
func HashWord(v, secret uint64) uint64 {
	const prime = 0x9fb21c651e98df25
	h := bits.RotateLeft64(v, 32) ^ secret
	h ^= bits.RotateLeft64(h, 49) ^ bits.RotateLeft64(h, 24)
	h *= prime
	h ^= h>>35 + 8
	h *= prime
	return h ^ h>>28
}
