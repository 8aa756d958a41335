package simd

import (
	"math/bits"
	"slices"
)

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

// shortRun is how many values shortRuns writes of every run.
const shortRun = 8

// shortRuns is expandRuns for runs of which most have a few values: it writes shortRun values of each, and what is too much is
// overwritten by the next. So there is no loop whose end the processor would have to guess: half of the numbers null and filled
// with the one before took 11 ns a run by expandRuns, and 3 ns so.
func shortRuns[U Unsigned](dst, values []U, lengths []uint32) bool {
	values = values[:len(lengths)]
	for i, length := range lengths {
		if len(dst) < shortRun {
			return expandRuns(dst, values[i:], lengths[i:])
		}
		v, room := values[i], (*[shortRun]U)(dst)
		room[0], room[1], room[2], room[3], room[4], room[5], room[6], room[7] = v, v, v, v, v, v, v, v
		if length > shortRun {
			if uint64(length) > uint64(len(dst)) {
				return false
			}
			rest := dst[shortRun:length]
			for j := range rest {
				rest[j] = v
			}
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
// the space they need; codes are below len(spans)-1, and spans rise inside data.
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

// RunsFound is how far a search for the runs that some places lie in has come: through how many runs, where the last one ends, and
// how many of the places were found.
type RunsFound struct {
	run, found int
	end        uint64
}

// skippedRuns are the runs that are passed over together where a place lies behind all of them.
const skippedRuns = 8

// Find goes on with the lengths of the next runs. It writes for each of places, which never fall and are the same with every call,
// the number of the run that it lies in.
func (f *RunsFound) Find(runs, places, lengths []uint32) {
	runs = runs[:len(places)]
	run, end := 0, f.end
	for ; f.found < len(places); f.found++ {
		p := uint64(places[f.found])
		for ; len(lengths)-run >= skippedRuns; run += skippedRuns {
			beyond := end + sumOf((*[skippedRuns]uint32)(lengths[run:]))
			if beyond > p {
				break
			}
			end = beyond
		}
		for end <= p {
			if run == len(lengths) {
				f.run, f.end = f.run+run, end
				return
			}
			end += uint64(lengths[run])
			run++
		}
		runs[f.found] = uint32(f.run + run - 1)
	}
	for ; len(lengths)-run >= skippedRuns; run += skippedRuns {
		end += sumOf((*[skippedRuns]uint32)(lengths[run:]))
	}
	for _, length := range lengths[run:] {
		end += uint64(length)
	}
	f.run, f.end = f.run+len(lengths), end
}

func sumOf(l *[skippedRuns]uint32) uint64 {
	return uint64(l[0]) + uint64(l[1]) + uint64(l[2]) + uint64(l[3]) + uint64(l[4]) + uint64(l[5]) + uint64(l[6]) + uint64(l[7])
}

// Whole reports whether the lengths of all runs sum up to n, so that all places below n were found.
func (f *RunsFound) Whole(n int) bool { return f.end == uint64(n) }

// Places writes the places of n bits of a bitmap that are set, counted from base on; the first is bit from. dst has exactly as many
// as there are.
func Places(dst []uint32, bitmap []byte, from, n int, base uint32) {
	for i := 0; i < n; i += wordBits {
		for m := BitsAt(bitmap, from+i, min(wordBits, n-i)); m != 0; m &= m - 1 {
			dst[0] = base + uint32(i+bits.TrailingZeros64(m))
			dst = dst[1:]
		}
	}
}
