//go:build !purego

package simd

import "unsafe"

// The functions of avx2_amd64.s and avx512_amd64.s take whole steps of some vectors, and are called with nothing else; the rest over
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

// gatherBy looks eight codes up at a time: by code that checks none, once the largest is known.
func gatherBy[U Unsigned](largest func([]uint32) uint32, lookUp func(dst, dict *U, codes *uint32, n int)) func(dst, dict []U, codes []uint32) bool {
	const step = 8
	return func(dst, dict []U, codes []uint32) bool {
		codes = codes[:len(dst)]
		if len(codes) == 0 {
			return true
		}
		if uint64(largest(codes)) >= uint64(len(dict)) {
			return false
		}
		n := len(dst) / step * step
		if n > 0 {
			lookUp(&dst[0], &dict[0], &codes[0], n)
		}
		return gather(dst[n:], dict, codes[n:])
	}
}

// alpBy converts step integers at a time, and the rest by plain.
func alpBy[U uint32 | uint64, F float32 | float64](alp func(dst, src *U, n int, f, e F), step int, power, inverse []F,
	plain func(dst, src []U, exponent, factor int)) func(dst, src []U, exponent, factor int) {
	return func(dst, src []U, exponent, factor int) {
		dst = dst[:len(src)]
		n := len(src) / step * step
		if n > 0 {
			alp(&dst[0], &src[0], n, power[factor], inverse[exponent])
		}
		plain(dst[n:], src[n:], exponent, factor)
	}
}

// The functions that put values together are called by name: by their value, the table would have to be allocated.

func glueVectors32AVX2(dst, right []uint32, codes []uint16, high [8]uint32, limit uint16) bool {
	right, codes = right[:len(dst)], codes[:len(dst)]
	n := len(dst) / 8 * 8
	if n > 0 && glue32AVX2(&dst[0], &right[0], &codes[0], &high[0], n) > uint32(limit) {
		return false
	}
	return glue(dst[n:], right[n:], codes[n:], high, limit)
}

func glueVectors64AVX2(dst, right []uint64, codes []uint16, high [8]uint64, limit uint16) bool {
	right, codes = right[:len(dst)], codes[:len(dst)]
	n := len(dst) / 4 * 4
	if n > 0 && glue64AVX2(&dst[0], &right[0], &codes[0], &high[0], n) > uint32(limit) {
		return false
	}
	return glue(dst[n:], right[n:], codes[n:], high, limit)
}

func glueVectors32AVX512(dst, right []uint32, codes []uint16, high [8]uint32, limit uint16) bool {
	right, codes = right[:len(dst)], codes[:len(dst)]
	n := len(dst) / 16 * 16
	if n > 0 && glue32AVX512(&dst[0], &right[0], &codes[0], &high[0], n) > uint32(limit) {
		return false
	}
	return glue(dst[n:], right[n:], codes[n:], high, limit)
}

func glueVectors64AVX512(dst, right []uint64, codes []uint16, high [8]uint64, limit uint16) bool {
	right, codes = right[:len(dst)], codes[:len(dst)]
	n := len(dst) / 8 * 8
	if n > 0 && glue64AVX512(&dst[0], &right[0], &codes[0], &high[0], n) > uint32(limit) {
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

func largestAVX512(v []uint32) (top uint32) {
	n := len(v) / 32 * 32
	if n > 0 {
		top = largest32AVX512(&v[0], n)
	}
	return max(top, largest(v[n:]))
}

// fewBytes is the size of a run that is written value by value.
const fewBytes = 64

// runsAVX2 is expandRuns with vectors for runs that are long enough, if those are not few. It calls fillAVX2 by its name: by a
// value, runs of 8 numbers took a third longer.
func runsAVX2[U Unsigned](dst, values []U, lengths []uint32) bool {
	few := uint32(fewBytes / SizeOf[U]())
	if uint64(len(dst)) < 2*uint64(few)*uint64(len(lengths)) {
		return shortRuns(dst, values, lengths)
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

// stepsBlock is how many values the vectors of steps32AVX2 take at once: their counters can't overflow.
const stepsBlock = 1 << 20

// steps32 and steps64 are steps with vectors. They call the assembly by its name: what a function value is given is allocated.
func steps32(vals []uint32) Steps[uint32] {
	const lanes = 8
	if len(vals) < 4*lanes {
		return steps(vals)
	}
	s, at := steps(vals[:2]), 2
	for n := stepsVectors(len(vals)-at, lanes); n > 0; n = stepsVectors(len(vals)-at, lanes) {
		var out [6][lanes]uint32
		for j := range lanes {
			out[0][j], out[1][j], out[2][j], out[3][j] = s.Least, s.Most, s.StepLeast, s.StepMost
		}
		steps32AVX2(&vals[at:][:n][0], n, &out)
		s.join(n, out[0][:], out[1][:], out[2][:], out[3][:], out[4][:], out[5][:])
		at += n
	}
	s.rest(vals, at)
	return s
}

func steps64(vals []uint64) Steps[uint64] {
	const lanes = 4
	if len(vals) < 4*lanes {
		return steps(vals)
	}
	s, at := steps(vals[:2]), 2
	for n := stepsVectors(len(vals)-at, lanes); n > 0; n = stepsVectors(len(vals)-at, lanes) {
		var out [6][lanes]uint64
		for j := range lanes {
			out[0][j], out[1][j], out[2][j], out[3][j] = s.Least, s.Most, s.StepLeast, s.StepMost
		}
		steps64AVX2(&vals[at:][:n][0], n, &out)
		s.join(n, out[0][:], out[1][:], out[2][:], out[3][:], out[4][:], out[5][:])
		at += n
	}
	s.rest(vals, at)
	return s
}

// stepsVectors is how many of n values go into whole vectors, up to stepsBlock.
func stepsVectors(n, lanes int) int { return min(n/lanes*lanes, stepsBlock) }

// join takes in what the vectors have come to over n more values; same and sameSteps count down.
func (s *Steps[U]) join(n int, least, most, stepLeast, stepMost, same, sameSteps []U) {
	values, steps := Steps[U]{Least: s.Least, Most: s.Most}, Steps[U]{Least: s.StepLeast, Most: s.StepMost}
	values.extremes(least)
	values.extremes(most)
	steps.extremes(stepLeast)
	steps.extremes(stepMost)
	s.Least, s.Most, s.StepLeast, s.StepMost = values.Least, values.Most, steps.Least, steps.Most
	s.Changes, s.StepChanges = s.Changes+n, s.StepChanges+n
	for j := range same {
		s.Changes -= int(-same[j])
		s.StepChanges -= int(-sameSteps[j])
	}
}

// rest takes in the values from at on, which is 2 at least.
func (s *Steps[U]) rest(vals []U, at int) {
	s.extremes(vals[at:])
	s.differences(vals[at-1], vals[at-1]-vals[at-2], vals[at:])
}

// fsstBy decodes sixteen codes at a time, as long as all of them have symbols.
func fsstBy(t *FsstTable, dst, src []byte) (written, read int) {
	if len(src) < fsstStep || len(dst) < 8*fsstStep {
		return 0, 0
	}
	return fsstAVX2(&dst[0], &src[0], len(dst), len(src), &t.symbols[0], &t.lengths[0], &t.count)
}
