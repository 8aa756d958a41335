package encode

import (
	"math"
	"math/bits"
)

// Where many values are null, runs of equal values are stored with their lengths, and null slots may hold the value before or that
// behind: so each run may end anywhere between two values. Ends at the last moment give lengths as random as the nulls are. Ends that
// make the usual lengths more usual take a sixth less, where every second value is null.

const (
	// leastNulls is the share of the values that must be null, as a divisor, for the ends of runs to be chosen.
	leastNulls = 16
	// mostEnds is how many places for the end of a run are weighed at most, the last ones before the next value.
	mostEnds = 16
	// endRounds is how often the ends are chosen, each time by how often the lengths came out the time before.
	endRounds = 3
	// longestRun is the length from which on all runs cost the same.
	longestRun = 63
)

// fillBetween gives vals with null slots that hold the value before or behind, so that the lengths of runs say as little as possible.
func fillBetween[U word](e *Encoder, vals []U, valid []byte, present int) []U {
	places := take[uint32](&e.arena, present)[:0]
	for at := 0; at < len(vals); at += 8 {
		for b := lastBits(valid[at/8], len(vals)-at); b != 0; b &= b - 1 {
			places = append(places, uint32(at+bits.TrailingZeros8(b)))
		}
	}
	starts := e.startsOfRuns(places, len(vals))
	filled := take[U](&e.arena, len(vals))
	for j, from := range starts {
		to := len(vals)
		if j+1 < len(starts) {
			to = int(starts[j+1])
		}
		v := vals[places[j]]
		for i := int(from); i < to; i++ {
			filled[i] = v
		}
	}
	return filled
}

// startsOfRuns chooses where the runs of n values begin that hold one value each, at places: the cheapest way through all choices (Viterbi).
func (e *Encoder) startsOfRuns(places []uint32, n int) []uint32 {
	starts := take[uint32](&e.arena, len(places))
	from := take[uint8](&e.arena, len(places)*mostEnds)
	mean := float64(n) / float64(len(places))
	var cost [longestRun + 1]float64
	for length := range cost {
		cost[length] = 1 + 1.5*math.Abs(float64(length)-mean)
	}
	for range endRounds {
		cheapestStarts(starts, from, places, &cost)
		var counts [longestRun + 1]int
		for j := 1; j < len(starts); j++ {
			counts[min(starts[j]-starts[j-1], longestRun)]++
		}
		for length, c := range counts {
			cost[length] = math.Log2(float64(n)) + float64(length)/16
			if c > 0 {
				cost[length] = max(1, math.Log2(float64(len(places))/float64(c)))
			}
		}
	}
	return starts
}

// cheapestStarts fills starts with the cheapest ones by the cost of lengths. from has mostEnds slots for each of places.
func cheapestStarts(starts []uint32, from []uint8, places []uint32, cost *[longestRun + 1]float64) {
	var before, now [mostEnds]float64
	first, choices := uint32(0), 1 // of the run before
	for j := 1; j < len(places); j++ {
		least := max(places[j-1]+1, places[j]+1-min(mostEnds, places[j]+1))
		here := int(places[j]-least) + 1
		for c := range here {
			best, at := math.Inf(1), 0
			for b := range choices {
				length := least + uint32(c) - first - uint32(b)
				if sum := before[b] + cost[min(length, longestRun)]; sum < best {
					best, at = sum, b
				}
			}
			now[c], from[j*mostEnds+c] = best, uint8(at)
		}
		before, first, choices = now, least, here
	}
	last := 0
	for b := range choices {
		if before[b] < before[last] {
			last = b
		}
	}
	for j := len(places) - 1; j > 0; j-- {
		least := max(places[j-1]+1, places[j]+1-min(mostEnds, places[j]+1))
		starts[j] = least + uint32(last)
		last = int(from[j*mostEnds+last])
	}
	starts[0] = 0
}
