package column

import "github.com/shardcat/shardcat/shardfmt/internal/simd"

// recentValues are values that came lately, with their ids in a dictionary, two at each place: texts and decimals that are worth a
// dictionary repeat few, which need no look into its map. There are a power of two of places.
type recentValues [][2]recentValue

const (
	// recentPlaces of 48 bytes are 24 KiB: less than the codes that a builder has space for at first.
	recentPlaces = 512
	// mostRecentPlaces are 384 KiB. There are more than recentPlaces only for twice as many values of a dictionary at least, which come often enough to be
	// looked for in its map as often as there are places.
	mostRecentBits   = 13
	mostRecentPlaces = 1 << mostRecentBits
	// recentAfter is how many values a dictionary takes before it keeps recent ones: of fewer, many fields may be available.
	recentAfter = 1024
)

// recentValue is a value by its ends (see simd.Ends) and its length plus 1, 0 where there is none.
type recentValue struct {
	head, tail uint64
	size       uint32
	id         uint32
}

// is reports whether the value has these ends and this length; a longer one than simd.EndsTell may be another all the same.
func (r *recentValue) is(head, tail uint64, length int) bool {
	return r.head == head && r.tail == tail && r.size == uint32(length+1)
}

// at is the place of a value.
func (r recentValues) at(head, tail uint64, length int) *[2]recentValue {
	return &r[simd.HashEnds(head, tail, length)>>(64-mostRecentBits)&uint64(len(r)-1)]
}

// widen makes more places, empty ones, if they are too few for the values of a dictionary of which some had to be looked for.
func (r recentValues) widen(distinct, looks int) recentValues {
	if len(r) == mostRecentPlaces || distinct < 2*len(r) || looks < distinct+len(r) {
		return r
	}
	places := len(r)
	for places < mostRecentPlaces && places < distinct {
		places *= 2
	}
	return make(recentValues, places)
}
