//go:build !purego

package simd

// The functions of avx2_amd64.s that look texts and values of sixteen bytes up check nothing. Here is seen to it that no byte outside
// their slices is touched; the rest over is for the loops in Go.

// codesStep is how many codes they look up at a time, and moveEndsStep how many ends are moved.
const codesStep, moveEndsStep = 8, 8

// withTexts takes them into a tier; largest is the largest of codes.
func (t *tier) withTexts(largest func([]uint32) uint32) {
	t.gather16 = func(dst, dict [][16]byte, codes []uint32) bool {
		codes = codes[:len(dst)]
		n := len(codes) / codesStep * codesStep
		if n > 0 {
			if uint64(largest(codes[:n])) >= uint64(len(dict)) {
				return false
			}
			gather16BytesAVX2(&dst[0], &dict[0], &codes[0], n)
		}
		return gather16Bytes(dst[n:], dict, codes[n:])
	}
	t.textEnds = func(offsets []int64, codes []uint32, ends []int64) {
		n := len(codes) / codesStep * codesStep
		var room [1 << 12]uint32
		lengths := room[:max(0, min(len(ends)-1, len(room)))]
		if n == 0 || n < 4*len(lengths) || len(lengths) < len(ends)-1 || uint64(largest(codes[:n])) >= uint64(len(lengths)) || !lengthsOf(lengths, ends) {
			n = 0 // too many entries, or one that no code may name, which the loop finds
		} else {
			textEndsAVX2(&offsets[1:][:n][0], &codes[0], &lengths[0], n, offsets[0])
		}
		textEnds(offsets[n:], codes[n:], ends)
	}
	t.moveEnds = func(ends []int64, by int64) bool {
		n := (len(ends) - 1) / moveEndsStep * moveEndsStep // the last one has none behind it
		if n <= 0 {
			return moveEnds(ends, by)
		}
		fell := moveEndsAVX2(&ends[0], n, by)
		return moveEnds(ends[n:], by) && fell == 0
	}
	t.texts = func(dst []byte, offsets []int64, codes []uint32, ends []int64, text []byte, longest int) int {
		size, gather := int64(16), gatherTexts16AVX2
		if longest > 16 {
			size, gather = 32, gatherTexts32AVX2
		}
		n, entries := len(codes), len(ends)-1
		for n > 0 && offsets[n-1] > int64(len(dst))-size { // the last ones
			n--
		}
		n = n / codesStep * codesStep
		if n < 4*entries || n == 0 || ends[entries-1] > int64(len(text))-size || uint64(largest(codes[:n])) >= uint64(entries) ||
			!rise(ends) || !t.moveEnds(offsets[:n], 0) {
			return 0
		}
		gather(&dst[0], &offsets[0], &codes[0], &ends[0], &text[0], n)
		return n
	}
}

// lengthsOf gives the lengths of entries that end one after the other; false if they don't, or one is too long.
func lengthsOf(lengths []uint32, ends []int64) bool {
	all := int64(0)
	for i := range lengths {
		n := ends[i+1] - ends[i]
		lengths[i], all = uint32(n), all|n
	}
	return all>>31 == 0
}

// rise reports whether offsets begin at 0 or above and never fall.
func rise(offsets []int64) bool {
	last, fell := int64(0), int64(0)
	for _, at := range offsets {
		fell |= at - last
		last = at
	}
	return fell >= 0
}
