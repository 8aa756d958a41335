package kernel

import "slices"

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

// Glue fills dst with high[code] | right: the parts of ALP-RD. All slices have the length of dst; right may
// be dst. It returns false if a code is above limit, which is at most 7.
func Glue[U Unsigned](dst, right []U, codes []uint16, high *[8]U, limit uint16) bool {
	return of[U]().glue(dst, right, codes, *high, limit)
}

func glue[U Unsigned](dst, right []U, codes []uint16, high [8]U, limit uint16) bool {
	right, codes = right[:len(dst)], codes[:len(dst)]
	all := uint16(0) // at least the largest code: if that is good, each is
	for i := range dst {
		c := codes[i]
		all |= c
		dst[i] = high[c&7] | right[i]
	}
	return all <= limit || slices.Max(codes) <= limit
}

// AllAtMost: no value is above limit.
func AllAtMost(v []uint32, limit uint32) bool { return active.largest(v) <= limit }

// largest is the largest value, 0 of none.
func largest(v []uint32) (top uint32) {
	for _, x := range v {
		top = max(top, x)
	}
	return top
}

// shortSpan is the bytes that GatherBytes copies without asking how many it takes.
const shortSpan = 16

// GatherBytes fills dst with data[spans[c]:spans[c+1]] of every code c, one after the other. dst has exactly
// the room they need; codes are below len(spans)-1, and spans rise inside data.
func GatherBytes(dst, data []byte, codes []uint32, spans []uint64) {
	for _, c := range codes {
		start, end := spans[c], spans[c+1]
		n := end - start
		if n > shortSpan || len(dst) < shortSpan || start+shortSpan > uint64(len(data)) {
			dst = dst[copy(dst, data[start:end]):]
			continue
		}
		*(*[shortSpan]byte)(dst) = [shortSpan]byte(data[start:])
		dst = dst[n:]
	}
}
