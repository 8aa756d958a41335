//go:build !purego

package kernel

import "unsafe"

// The functions of avx2_amd64.s take whole steps of some vectors, and are called with nothing else; what is left over
// is for the loops in Go. Here their slices are checked, so that no byte outside them is touched.

// unpackBy unpacks a chunk.
func unpackBy[U Unsigned](unpack func(dst *U, chunk *byte, width, mask, ref uint64)) func(*[ChunkLen]U, []byte, int, U) {
	return func(dst *[ChunkLen]U, chunk []byte, width int, ref U) {
		chunk = chunk[:ChunkBytes(width)]
		unpack(&dst[0], &chunk[0], uint64(width), lowBits(width), uint64(ref))
	}
}

// prefixSumBy sums step values at a time.
func prefixSumBy[U Unsigned](sum func(dst, src *U, n int, base uint64), step int) func(dst, src []U, base U) {
	return func(dst, src []U, base U) {
		src = src[:len(dst)]
		n := len(dst) / step * step
		if n > 0 {
			sum(&dst[0], &src[0], n, uint64(base))
			base = dst[n-1]
		}
		prefixSumPortable(dst[n:], src[n:], base)
	}
}

// rampBy writes step values at a time.
func rampBy[U Unsigned](ramp func(dst *U, n int, add uint64), step int) func(dst []U, base, step U) {
	return func(dst []U, base, by U) {
		n := len(dst) / step * step
		if n < 2*step {
			rampPortable(dst, base, by)
			return
		}
		rampPortable(dst[:step], base, by)
		ramp(&dst[0], n-step, uint64(by)*uint64(step))
		rampPortable(dst[n:], dst[n-1]+by, by)
	}
}

// widenBy widens step numbers at a time, from the first on: src may be the Tail of dst.
func widenBy[U, N Unsigned](widen func(dst *U, src *N, n int), step int) func(dst []U, src []N) {
	return func(dst []U, src []N) {
		src = src[:len(dst)]
		n := len(dst) / step * step
		if n > 0 {
			widen(&dst[0], &src[0], n)
		}
		signExtend(dst[n:], src[n:])
	}
}

// withinBy compares a word of bits at a time.
func withinBy[T Integer](ints func(dst *uint64, src *T, words int, low, span uint64)) func(dst []uint64, values []T, low, span uint64) {
	return func(dst []uint64, values []T, low, span uint64) {
		n := len(values) / wordBits
		if n > 0 {
			ints(&dst[:n][0], &values[0], n, low, span)
		}
		intsWithin(dst[n:], values[n*wordBits:], low, span)
	}
}

func floatsWithinBy[T float32 | float64](floats func(dst *uint64, src *T, words int, low, high float64)) func(dst []uint64, values []T, low, high float64) {
	return func(dst []uint64, values []T, low, high float64) {
		n := len(values) / wordBits
		if n > 0 {
			floats(&dst[:n][0], &values[0], n, low, high)
		}
		floatsWithin(dst[n:], values[n*wordBits:], low, high)
	}
}

func floats32AVX2(dst, src []uint32, exponent, factor int) {
	dst = dst[:len(src)]
	n := len(src) / 8 * 8
	if n > 0 {
		alp32AVX2(&dst[0], &src[0], n, alpPower32[factor], alpInverse32[exponent])
	}
	alpFloats32(dst[n:], src[n:], exponent, factor)
}

func floats64AVX2(dst, src []uint64, exponent, factor int) {
	dst = dst[:len(src)]
	n := len(src) / 4 * 4
	if n > 0 {
		alp64AVX2(&dst[0], &src[0], n, alpPower64[factor], alpInverse64[exponent])
	}
	alpFloats64(dst[n:], src[n:], exponent, factor)
}

func glueVectors32(dst, right []uint32, codes []uint16, high [8]uint32, limit uint16) bool {
	right, codes = right[:len(dst)], codes[:len(dst)]
	n := len(dst) / 8 * 8
	if n > 0 && glue32AVX2(&dst[0], &right[0], &codes[0], &high[0], n) > uint32(limit) {
		return false
	}
	return glue(dst[n:], right[n:], codes[n:], high, limit)
}

func glueVectors64(dst, right []uint64, codes []uint16, high [8]uint64, limit uint16) bool {
	right, codes = right[:len(dst)], codes[:len(dst)]
	n := len(dst) / 4 * 4
	if n > 0 && glue64AVX2(&dst[0], &right[0], &codes[0], &high[0], n) > uint32(limit) {
		return false
	}
	return glue(dst[n:], right[n:], codes[n:], high, limit)
}

func largestAVX2(v []uint32) (top uint32) {
	n := len(v) / 16 * 16
	if n > 0 {
		top = largest32AVX2(&v[0], n)
	}
	return max(top, largest(v[n:]))
}

// gatherAVX2 checks all codes first, so that the look-ups need no check.
func gatherAVX2[U Unsigned](dst, dict []U, codes []uint32) bool {
	codes = codes[:len(dst)]
	if len(dst) == 0 {
		return true
	}
	if uint64(largestAVX2(codes)) >= uint64(len(dict)) {
		return false
	}
	base := unsafe.Pointer(unsafe.SliceData(dict))
	for i := range dst {
		dst[i] = *(*U)(unsafe.Add(base, uintptr(codes[i])*unsafe.Sizeof(dst[0])))
	}
	return true
}

// fewBytes is the size of a run that is written value by value.
const fewBytes = 64

// runsAVX2 is expandRuns with vectors for runs that are long enough, if those are not few.
func runsAVX2[U Unsigned](dst, values []U, lengths []uint32) bool {
	few := uint32(fewBytes / SizeOf[U]())
	if uint64(len(dst)) < uint64(few)*uint64(len(lengths)) {
		return expandRuns(dst, values, lengths)
	}
	values = values[:len(lengths)]
	ones := spread(1, 8*SizeOf[U]())
	for i, length := range lengths {
		if uint64(length) > uint64(len(dst)) {
			return false
		}
		v, run := values[i], dst[:length]
		if length >= few {
			fillAVX2((*byte)(unsafe.Pointer(&run[0])), int(length)*SizeOf[U](), uint64(v)*ones)
		} else {
			for j := range run {
				run[j] = v
			}
		}
		dst = dst[length:]
	}
	return len(dst) == 0
}
