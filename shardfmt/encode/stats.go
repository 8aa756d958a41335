package encode

import "math/bits"

// stats is what one pass over a stream of words tells. All of it is exact.
type stats[U word] struct {
	n int
	// low and span: every value is low + x modulo 2^B with x at most span. Of the two ways to read the words,
	// as signed and as unsigned, it is the one with the smaller span; readers add modulo 2^B in any case.
	low, span U
	// max is the largest value read as unsigned.
	max U
	// min and top are the extremes read as signed, still as bits.
	min, top U
	// changes counts the values that differ from the one before: runs less one.
	changes int
	// zeros counts zeros.
	zeros int
	// diffLow and diffSpan are low and span of the differences of neighbours, read as signed.
	diffLow, diffSpan U
	// diffChanges counts the differences that differ from the one before.
	diffChanges int
}

// scan gathers the statistics of at least one value.
func scan[U word](vals []U) stats[U] {
	sign := U(1) << (bitsOf[U]() - 1)
	first := vals[0]
	minU, maxU, minS, maxS := first, first, first^sign, first^sign
	minD, maxD := ^U(0), U(0)
	changes, zeros, diffChanges := 0, 0, -1
	last, lastDiff := first, ^(vals[min(1, len(vals)-1)] - first)
	for _, v := range vals[1:] {
		d := v - last
		last = v
		minU, maxU = min(minU, v), max(maxU, v)
		minS, maxS = min(minS, v^sign), max(maxS, v^sign)
		minD, maxD = min(minD, d^sign), max(maxD, d^sign)
		if d != 0 {
			changes++
		}
		if v == 0 {
			zeros++
		}
		if d != lastDiff {
			diffChanges++
		}
		lastDiff = d
	}
	if first == 0 {
		zeros++
	}
	s := stats[U]{n: len(vals), low: minU, span: maxU - minU, max: maxU, min: minS ^ sign, top: maxS ^ sign,
		changes: changes, zeros: zeros, diffLow: minD ^ sign, diffSpan: maxD - minD, diffChanges: max(0, diffChanges)}
	if maxS-minS < s.span {
		s.low, s.span = minS^sign, maxS-minS
	}
	return s
}

// widthOf is the number of bits of the largest value of a stream; 0 for 0.
func widthOf[U word](largest U) int { return bits.Len64(uint64(largest)) }

// signedWidth is the narrowest of 8, 16, 32, 64 bits that holds the signed extremes of the stream.
func (s *stats[U]) signedWidth() int {
	lo, hi := extend(s.min), extend(s.top)
	for width := 8; width < 64; width *= 2 {
		if limit := int64(1) << (width - 1); lo >= -limit && hi < limit {
			return width
		}
	}
	return 64
}

// extend reads the bits of a word as signed.
func extend[U word](v U) int64 {
	shift := 64 - bitsOf[U]()
	return int64(uint64(v)<<shift) >> shift
}
