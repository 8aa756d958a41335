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

// scan gathers the statistics of at least one value. Nothing in the loop branches on the values.
func scan[U word](vals []U) stats[U] {
	top := bitsOf[U]() - 1
	sign := U(1) << top
	first := vals[0]
	last, lastDiff := first, U(0)
	// Distances from the first value, and differences of neighbours, biased so that order is unsigned order.
	least, most, leastDiff, mostDiff := sign, sign, ^U(0), U(0)
	anyBit, anyFolded := first, first^-(first>>top)
	changes, diffChanges := U(0), U(0)
	s := stats[U]{n: len(vals)}
	for at, v := range vals[1:] {
		d := v - last
		last = v
		x := (v - first) ^ sign
		least, most = min(least, x), max(most, x)
		leastDiff, mostDiff = min(leastDiff, d^sign), max(mostDiff, d^sign)
		anyBit |= v
		anyFolded |= v ^ -(v >> top)
		changes += (d | -d) >> top
		dd := d ^ lastDiff
		lastDiff = d
		diffChanges += (dd | -dd) >> top
		if at&63 == 63 { // before the counters of narrow words overflow
			s.changes, s.diffChanges = s.changes+int(changes), s.diffChanges+int(diffChanges)
			changes, diffChanges = 0, 0
		}
	}
	s.changes, s.diffChanges = s.changes+int(changes), s.diffChanges+int(diffChanges)
	s.low, s.span = first+(least^sign), most-least
	s.width, s.signedWidth = widthOf(anyBit), 1+widthOf(anyFolded)
	s.negative = anyBit>>top == 1
	s.diffLow, s.diffSpan = leastDiff^sign, mostDiff-leastDiff
	return s
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
