package field

import "github.com/shardcat/shardcat/internal/kernel"

// recentValues are values that came lately, with their ids in a dictionary, two at each place: texts and decimals that are worth a
// dictionary repeat few, which need no look into its map.
type recentValues [1 << recentBits][2]recentValue

const (
	// recentBits make 512 places of 48 bytes, 24 KiB: less than the codes that a builder has room for at first.
	recentBits = 9
	// recentAfter is how many values a dictionary takes before it keeps recent ones: of fewer, many fields may be at hand.
	recentAfter = 1024
)

// recentValue is a value by its ends (see kernel.Ends) and its length plus 1, 0 where there is none.
type recentValue struct {
	head, tail uint64
	size       uint32
	id         uint32
}

// is reports whether the value has these ends and this length; a longer one than kernel.EndsTell may be another all the same.
func (r *recentValue) is(head, tail uint64, length int) bool {
	return r.head == head && r.tail == tail && r.size == uint32(length+1)
}

// at is the place of a value.
func (r *recentValues) at(head, tail uint64, length int) *[2]recentValue {
	return &r[kernel.HashEnds(head, tail, length)>>(64-recentBits)]
}
