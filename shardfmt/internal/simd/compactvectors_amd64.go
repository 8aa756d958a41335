//go:build !purego

package simd

// The functions of compact_amd64.s write whole vectors and read the byte behind a word of a bitmap. They get so many words that all
// of that lies in the slices; the loops in Go do the rest.

// wholeWords is how many words there are in n bits of a bitmap from bit from on that have a byte behind them.
func wholeWords(bitmap []byte, from, n int) int {
	return max(0, min(n/wordBits, (len(bitmap)-from/8-1)/(wordBits/8)))
}

// compactBy compacts words; spare is how many values are written behind those that are chosen.
func compactBy[T any](by func(dst, src *T, chosen *byte, chosenBit uint64, words int), spare int) func(dst, src []T, bitmap []byte, from int) {
	return func(dst, src []T, bitmap []byte, from int) {
		words := wholeWords(bitmap, from, len(src))
		rest := OnesBetween(bitmap, from+words*wordBits, len(src)-words*wordBits)
		for ; words > 0 && rest < spare; words-- { // what is written behind is written again
			rest += OnesBetween(bitmap, from+(words-1)*wordBits, wordBits)
		}
		if words > 0 && len(dst) > rest {
			by(&dst[0], &src[0], &bitmap[from/8], uint64(from%8), words)
		}
		dst, src, from = dst[len(dst)-rest:], src[words*wordBits:], from+words*wordBits
		compact(dst, src, bitmap, from)
	}
}

// compactedWords are so many words that what they leave fits a buffer in the first-level cache.
const compactedWords = 64

// compactBitsAVX2By compacts words into a buffer and copies what they leave.
func compactBitsAVX2By(dst []byte, at int, src []byte, from int, bitmap []byte, chosen, n int) {
	const behind = 16
	var room [compactedWords*wordBits/8 + behind]byte
	for words := min(wholeWords(src, from, n), wholeWords(bitmap, chosen, n)); words > 0; {
		some := min(words, compactedWords)
		k := compactBitsAVX2(&room[0], &src[from/8], uint64(from%8), &bitmap[chosen/8], uint64(chosen%8), some)
		CopyBits(dst, at, room[:], 0, int(k))
		at, words = at+int(k), words-some
		from, chosen, n = from+some*wordBits, chosen+some*wordBits, n-some*wordBits
	}
	compactBits(dst, at, src, from, bitmap, chosen, n)
}

// withCompaction takes the functions of compact_amd64.s into a tier.
func (t *tier) withCompaction() {
	t.words.u32.compact, t.words.u64.compact = compactBy(compact32AVX2, 256/32), compactBy(compact64AVX2, 256/64)
	t.compact16, t.compactBits = compactBy(compact16BytesAVX2, 0), compactBitsAVX2By
}
