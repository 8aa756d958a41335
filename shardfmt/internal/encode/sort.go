package encode

import (
	"math/bits"
	"slices"
)

const (
	// digitBits of a word are looked at together.
	digitBits = 11
	// leastDigits is the fewest words that are sorted by digits: counters of one digit are 2,048, too.
	leastDigits = 256
)

// sortWords sorts words by value. Many are sorted digit by digit, the lowest first, and only by those in which they differ: words
// that stand for places of a block have few.
func sortWords(e *Encoder, words []uint64) {
	if len(words) < leastDigits {
		slices.Sort(words)
		return
	}
	differ := uint64(0)
	for _, w := range words {
		differ |= w ^ words[0]
	}
	mark := e.arena.used
	from, to := words, take[uint64](&e.arena, len(words))
	counts := take[uint32](&e.arena, 1<<digitBits)
	for differ != 0 {
		shift := bits.TrailingZeros64(differ)
		digit := uint64(1<<digitBits-1) << shift
		differ &^= digit
		sortDigit(from, to, counts, shift)
		from, to = to, from
	}
	if &from[0] != &words[0] {
		copy(words, from)
	}
	e.arena.release(mark)
}

// sortDigit puts words into another place, in the order of the digit that begins at a bit; those with the same one stay in theirs.
func sortDigit(from, to []uint64, counts []uint32, shift int) {
	clear(counts)
	for _, w := range from {
		counts[w>>(shift&63)&(1<<digitBits-1)]++
	}
	at := uint32(0)
	for i, n := range counts {
		counts[i], at = at, at+n
	}
	for _, w := range from {
		n := &counts[w>>(shift&63)&(1<<digitBits-1)]
		to[*n] = w
		*n++
	}
}
