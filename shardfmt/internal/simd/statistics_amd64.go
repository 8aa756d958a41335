//go:build !purego

package simd

import "math"

// The functions that look at values before they are encoded, and those that encode: whole vectors as in vectors_amd64.go.

// withStatistics is of AVX2 alone; the tier of AVX-512 takes it too.
func (t *tier) withStatistics() {
	t.words.u8.steps, t.words.u16.steps, t.words.u32.steps, t.words.u64.steps = steps8, steps16, steps32, steps64
	t.words.u32.changes, t.words.u64.changes = changes32, changes64
	t.words.u32.extremes, t.words.u64.extremes = extremes32, extremes64
	t.integers64 = alpIntegersVectors
	t.bounds32, t.bounds64 = boundsVectors32, boundsVectors64
	t.split32, t.split64 = splitVectors32, splitVectors64
}

func changes32(vals []uint32) (changed int) {
	const lanes = 8
	at := 1
	for n := stepsVectors(len(vals)-at, lanes); n > 0; n = stepsVectors(len(vals)-at, lanes) {
		var same [lanes]uint32
		changes32AVX2(&vals[at:][:n][0], n, &same)
		changed += n
		for _, s := range same {
			changed -= int(-s)
		}
		at += n
	}
	return changed + changes(vals[at-1:])
}

func changes64(vals []uint64) (changed int) {
	const lanes = 4
	at := 1
	for n := stepsVectors(len(vals)-at, lanes); n > 0; n = stepsVectors(len(vals)-at, lanes) {
		var same [lanes]uint64
		changes64AVX2(&vals[at:][:n][0], n, &same)
		changed += n
		for _, s := range same {
			changed -= int(-s)
		}
		at += n
	}
	return changed + changes(vals[at-1:])
}

func extremes32(vals []uint32, flip uint32) (least, most uint32) {
	const lanes = 8
	n := len(vals) / lanes * lanes
	if n == 0 {
		return extremes(vals, flip)
	}
	var out [2][lanes]uint32
	extremes32AVX2(&vals[0], n, uint64(flip), &out)
	least, _ = extremes(out[0][:], 0)
	_, most = extremes(out[1][:], 0)
	return joinExtremes(least^flip, most^flip, vals[n:], flip)
}

func extremes64(vals []uint64, flip uint64) (least, most uint64) {
	const lanes = 4
	n := len(vals) / lanes * lanes
	if n == 0 {
		return extremes(vals, flip)
	}
	var out [2][lanes]uint64
	extremes64AVX2(&vals[0], n, flip, &out)
	least, _ = extremes(out[0][:], 0)
	_, most = extremes(out[1][:], 0)
	return joinExtremes(least^flip, most^flip, vals[n:], flip)
}

// joinExtremes takes in some more values.
func joinExtremes[U Unsigned](least, most U, vals []U, flip U) (U, U) {
	flip ^= 1 << (8*SizeOf[U]() - 1)
	for _, v := range vals {
		least, most = min(least^flip, v^flip)^flip, max(most^flip, v^flip)^flip
	}
	return least, most
}

func alpIntegersVectors(dst []uint64, missed []byte, src []uint64, exponent, factor int) {
	const step = 8
	n := len(src) / step * step
	if n > 0 {
		factors := [4]float64{alpPower64[exponent], alpInverse64[factor], alpPower64[factor], alpInverse64[exponent]}
		decimals64AVX2(&dst[:n][0], &missed[:n/8][0], &src[0], n, &factors)
	}
	alpIntegers64(dst[n:], missed[n/8:], src[n:], exponent, factor)
}

// packBy packs a chunk.
func packBy[U Unsigned](vectors func(chunk *byte, src *U, width, mask, ref uint64)) func([]byte, *[ChunkLen]U, int, U) {
	return func(chunk []byte, src *[ChunkLen]U, width int, ref U) {
		if width == 0 {
			return
		}
		chunk = chunk[:ChunkBytes(width)]
		vectors(&chunk[0], &src[0], uint64(width), lowBits(width), uint64(ref))
	}
}

// hashBy hashes step words at a time.
func hashBy(hash func(dst, src *uint64, n int, secret uint64), step int) func(dst, src []uint64, secret uint64) {
	return func(dst, src []uint64, secret uint64) {
		src = src[:len(dst)]
		n := len(dst) / step * step
		if n > 0 {
			hash(&dst[0], &src[0], n, secret)
		}
		hashWords(dst[n:], src[n:], secret)
	}
}

func splitVectors32(codes []uint16, missed []byte, vals []uint32, cut int, d *Lefts) uint64 {
	codes, missed = codes[:len(vals)], missed[:len(vals)/8]
	return split32AVX2(&codes[0], &missed[0], &vals[0], len(vals), uint64(cut), uint64(d.factor), &d.lefts[0], &d.numbers[0])
}

func splitVectors64(codes []uint16, missed []byte, vals []uint64, cut int, d *Lefts) uint64 {
	codes, missed = codes[:len(vals)], missed[:len(vals)/8]
	return split64AVX2(&codes[0], &missed[0], &vals[0], len(vals), uint64(cut), uint64(d.factor), &d.lefts[0], &d.numbers[0])
}

// boundsBlock is how many floats the vectors of bounds32AVX2 take at once: their counters can't overflow.
const boundsBlock = 1 << 20

func boundsVectors32(vals []float32) (b Bounds[float32], ok bool) {
	const lanes = 8
	b, at := emptyBounds[float32](), 0
	for n := min(len(vals)/lanes*lanes, boundsBlock); n > 0; n = min((len(vals)-at)/lanes*lanes, boundsBlock) {
		var out [6][lanes]uint32
		for j := range lanes {
			out[0][j], out[1][j] = math.Float32bits(b.Least), math.Float32bits(b.Most)
		}
		bounds32AVX2(&vals[at:][:n][0], n, &out)
		special := uint32(0)
		differ := math.Float32bits(vals[at]) ^ math.Float32bits(vals[0])
		for j := range lanes {
			b.Least, b.Most = min(b.Least, math.Float32frombits(out[0][j])), max(b.Most, math.Float32frombits(out[1][j]))
			b.Negative, b.Zeros = b.Negative+int(out[2][j]), b.Zeros+int(out[3][j])
			differ, special = differ|out[4][j], special|out[5][j]
		}
		if special != 0 {
			return b, false
		}
		b.Differ |= uint64(differ)
		at += n
	}
	ok = b.take(vals[at:], vals[0])
	b.zero(vals)
	return b, ok
}

func boundsVectors64(vals []float64) (b Bounds[float64], ok bool) {
	const lanes = 4
	b, at := emptyBounds[float64](), 0
	for n := min(len(vals)/lanes*lanes, boundsBlock); n > 0; n = min((len(vals)-at)/lanes*lanes, boundsBlock) {
		var out [6][lanes]uint64
		for j := range lanes {
			out[0][j], out[1][j] = math.Float64bits(b.Least), math.Float64bits(b.Most)
		}
		bounds64AVX2(&vals[at:][:n][0], n, &out)
		special := uint64(0)
		differ := math.Float64bits(vals[at]) ^ math.Float64bits(vals[0])
		for j := range lanes {
			b.Least, b.Most = min(b.Least, math.Float64frombits(out[0][j])), max(b.Most, math.Float64frombits(out[1][j]))
			b.Negative, b.Zeros = b.Negative+int(out[2][j]), b.Zeros+int(out[3][j])
			differ, special = differ|out[4][j], special|out[5][j]
		}
		if special != 0 {
			return b, false
		}
		b.Differ |= differ
		at += n
	}
	ok = b.take(vals[at:], vals[0])
	b.zero(vals)
	return b, ok
}

// How many numbers of one byte and of two the vectors take at once, for their counters have no more space.
const stepsBlock8, stepsBlock16 = 4 << 10, 512 << 10

func steps8(vals []uint8) Steps[uint8] {
	const lanes = 32
	if len(vals) < 4*lanes {
		return steps(vals)
	}
	s, at := steps(vals[:2]), 2
	for n := min((len(vals)-at)/lanes*lanes, stepsBlock8); n > 0; n = min((len(vals)-at)/lanes*lanes, stepsBlock8) {
		var out [6][lanes]uint8
		for j := range lanes {
			out[0][j], out[1][j], out[2][j], out[3][j] = s.Least, s.Most, s.StepLeast, s.StepMost
		}
		steps8AVX2(&vals[at:][:n][0], n, &out)
		s.join(n, out[0][:], out[1][:], out[2][:], out[3][:], out[4][:], out[5][:])
		at += n
	}
	s.rest(vals, at)
	return s
}

func steps16(vals []uint16) Steps[uint16] {
	const lanes = 16
	if len(vals) < 4*lanes {
		return steps(vals)
	}
	s, at := steps(vals[:2]), 2
	for n := min((len(vals)-at)/lanes*lanes, stepsBlock16); n > 0; n = min((len(vals)-at)/lanes*lanes, stepsBlock16) {
		var out [6][lanes]uint16
		for j := range lanes {
			out[0][j], out[1][j], out[2][j], out[3][j] = s.Least, s.Most, s.StepLeast, s.StepMost
		}
		steps16AVX2(&vals[at:][:n][0], n, &out)
		s.join(n, out[0][:], out[1][:], out[2][:], out[3][:], out[4][:], out[5][:])
		at += n
	}
	s.rest(vals, at)
	return s
}
