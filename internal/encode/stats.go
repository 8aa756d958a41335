package encode

import "math/bits"

// stats is what one pass over a stream of words tells. All of it is exact.
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

// scan gathers the statistics of at least one value. Its two passes are functions of their own, so that each has its counters in
// registers; nothing in them branches on the values.
func scan[U word](vals []U) stats[U] {
	top := bitsOf[U]() - 1
	s := stats[U]{n: len(vals)}
	least, most := signedExtremes(vals)
	s.low, s.span = least, most-least
	s.negative = least>>top == 1
	if s.width = widthOf(most); s.negative {
		s.width = top + 1
	}
	s.signedWidth = 1 + max(widthOf(fold(least)), widthOf(fold(most)))
	if s.span>>top == 1 {
		s.low, s.span = around(vals)
	}
	s.steps(vals)
	return s
}

// signedExtremes are the least and the greatest value, read as signed.
//
//go:noinline
func signedExtremes[U word](vals []U) (least, most U) {
	sign := U(1) << (bitsOf[U]() - 1)
	least, most = vals[0]^sign, vals[0]^sign // biased, so that unsigned order is that of signed numbers
	for _, v := range vals {
		least, most = min(least, v^sign), max(most, v^sign)
	}
	return least ^ sign, most ^ sign
}

// steps looks at the differences of neighbours.
//
//go:noinline
func (s *stats[U]) steps(vals []U) {
	top := bitsOf[U]() - 1
	sign := U(1) << top
	last, lastDiff, least, most := vals[0], U(0), ^U(0), U(0)
	changes, diffChanges := 0, 0
	for _, v := range vals[1:] {
		d := v - last
		last = v
		least, most = min(least, d^sign), max(most, d^sign)
		changes += int((d | -d) >> top)
		dd := d ^ lastDiff
		lastDiff = d
		diffChanges += int((dd | -dd) >> top)
	}
	s.changes, s.diffChanges = changes, diffChanges
	s.diffLow, s.diffSpan = least^sign, most-least
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
	top := bitsOf[U]() - 1
	changes := 0
	for i, v := range vals[1:] {
		d := v ^ vals[i]
		changes += int((d | -d) >> top)
	}
	return stats[U]{n: len(vals), changes: changes}
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
