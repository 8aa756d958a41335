package kernel

// ExpandRuns fills dst with values[i] repeated lengths[i] times; both slices have the same length. It
// returns false if the lengths don't sum up to len(dst).
func ExpandRuns[U Unsigned](dst, values []U, lengths []uint32) bool {
	return of[U]().runs(dst, values, lengths)
}

func expandRuns[U Unsigned](dst, values []U, lengths []uint32) bool {
	values = values[:len(lengths)]
	for i, length := range lengths {
		if uint64(length) > uint64(len(dst)) {
			return false
		}
		v := values[i]
		run := dst[:length]
		for j := range run {
			run[j] = v
		}
		dst = dst[length:]
	}
	return len(dst) == 0
}

// Scatter puts values[i] at dst[positions[i]]; both slices have the same length. It returns false, having
// written some, if the positions don't rise or don't lie in dst.
func Scatter[U Unsigned](dst []U, positions []uint32, values []U) bool {
	values = values[:len(positions)]
	next := uint32(0)
	for i, p := range positions {
		if p < next || uint64(p) >= uint64(len(dst)) {
			return false
		}
		dst[p] = values[i]
		next = p + 1
	}
	return true
}

// Gather fills dst with dict[codes[i]]; dst and codes have the same length. It returns false, having
// written some, if a code is not below len(dict).
func Gather[U Unsigned](dst, dict []U, codes []uint32) bool { return of[U]().gather(dst, dict, codes) }

func gather[U Unsigned](dst, dict []U, codes []uint32) bool {
	codes = codes[:len(dst)]
	for i := range dst {
		c := codes[i]
		if uint64(c) >= uint64(len(dict)) {
			return false
		}
		dst[i] = dict[c]
	}
	return true
}

// GatherSmall replaces every code by its entry. It returns false if a code is not below count.
func GatherSmall(codes []uint16, entries *[8]uint16, count int) bool {
	bad := false
	for i, c := range codes {
		bad = bad || int(c) >= count
		codes[i] = entries[c&7]
	}
	return !bad
}

// Glue sets every right part's bits from shift on to the left part.
func Glue[U Unsigned](right []U, left []uint16, shift int) {
	left = left[:len(right)]
	for i := range right {
		right[i] |= U(left[i]) << (shift & 63)
	}
}

// AllAtMost: no value is above limit.
func AllAtMost(v []uint32, limit uint32) bool {
	top := uint32(0)
	for _, x := range v {
		top = max(top, x)
	}
	return top <= limit
}
