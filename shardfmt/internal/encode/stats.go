package encode

import (
	"math/bits"

	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// stats is what one pass over a stream of words reports. All of it is exact.
type stats[U word] struct {
	n int
	// low and span: every value is low + x modulo 2^B with x at most span, the smallest such span unless it is
	// half of all words or more. Readers add modulo 2^B, so signs don't matter.
	low, span U
	// width is the bits of the largest value read as unsigned, signedWidth those that hold every value read as
	// signed.
	width, signedWidth int
	// negative: some value is, read as signed.
	negative bool
	// changes counts the values that differ from the one before: runs less one.
	changes int
	// diffLow and diffSpan are low and span of the differences of neighbours.
	diffLow, diffSpan U
	// diffChanges counts the differences that differ from the one before.
	diffChanges int
}

// scan gathers the statistics of at least one value.
func scan[U word](vals []U) stats[U] {
	top := bitsOf[U]() - 1
	of := simd.StepsOf(vals)
	s := stats[U]{
		n: len(vals), low: of.Least, span: of.Most - of.Least, changes: of.Changes,
		diffLow: of.StepLeast, diffSpan: of.StepMost - of.StepLeast, diffChanges: of.StepChanges,
	}
	s.negative = s.low>>top == 1
	if s.width = widthOf(of.Most); s.negative {
		s.width = top + 1
	}
	s.signedWidth = 1 + max(widthOf(fold(of.Least)), widthOf(fold(of.Most)))
	if s.span>>top == 1 {
		s.low, s.span = around(vals)
	}
	return s
}

// fold is a value, or -1 less it where it is negative: the bits that it takes besides its sign.
func fold[U word](v U) U { return v ^ -(v >> (bitsOf[U]() - 1)) }

// around gives low and span of values that lie on both sides of the sign, by their distances from the first.
func around[U word](vals []U) (low, span U) {
	sign := U(1) << (bitsOf[U]() - 1)
	least, most := sign, sign
	for _, v := range vals {
		x := (v - vals[0]) ^ sign
		least, most = min(least, x), max(most, x)
	}
	return vals[0] + (least ^ sign), most - least
}

// scanFloats gathers what is of use for floats: runs.
func scanFloats[U word](vals []U) stats[U] {
	return stats[U]{n: len(vals), changes: simd.ChangesOf(vals)}
}

// widthOf is the number of bits of a value; 0 for 0.
func widthOf[U word](v U) int { return bits.Len64(uint64(v)) }

// extend reads the bits of a word as signed.
func extend[U word](v U) int64 {
	shift := 64 - bitsOf[U]()
	return int64(uint64(v)<<shift) >> shift
}

// countZeros counts the zeros of a stream.
func countZeros[U word](vals []U) int {
	zeros := 0
	for _, v := range vals {
		if v == 0 {
			zeros++
		}
	}
	return zeros
}
