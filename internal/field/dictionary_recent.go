package field

import (
	"encoding/binary"
	"math/bits"
)

// recentValues are values that came lately, with their ids in a dictionary, two at each place: texts and decimals that are worth a
// dictionary repeat few, which need no look into its map.
type recentValues [1 << recentBits][2]recentValue

const (
	// recentBits make 512 places of 48 bytes, 24 KiB: less than the codes that a builder has room for at first.
	recentBits = 9
	// recentAfter is how many values a dictionary takes before it keeps recent ones: of fewer, many fields may be at hand.
	recentAfter = 1024
	// recentWhole is how long values may be that their ends tell wholly.
	recentWhole = 16
)

// recentValue is a value by its ends (see endsOf) and its length plus 1, 0 where there is none.
type recentValue struct {
	head, tail uint64
	size       uint32
	id         uint32
}

// is reports whether the value has these ends and this length; a longer one than recentWhole may be another all the same.
func (r *recentValue) is(head, tail uint64, length int) bool {
	return r.head == head && r.tail == tail && r.size == uint32(length+1)
}

// at is the place of a value.
func (r *recentValues) at(head, tail uint64, length int) *[2]recentValue {
	h := (head ^ bits.RotateLeft64(tail, 18)) + uint64(length)
	return &r[h*0x9E3779B97F4A7C15>>(64-recentBits)] // Fibonacci hashing
}

// endsOf gives the first and the last eight bytes of the value from start to end in data; of a shorter one all of it, and 0.
func endsOf(data []byte, start, end int) (head, tail uint64) {
	if end-start >= 8 {
		return binary.LittleEndian.Uint64(data[start:]), binary.LittleEndian.Uint64(data[end-8:])
	}
	if start+8 <= len(data) {
		return binary.LittleEndian.Uint64(data[start:]) & (1<<(8*(end-start)) - 1), 0
	}
	return shortWord(data[start:end]), 0
}

// shortWord is a text of less than eight bytes as a word.
func shortWord(v []byte) (w uint64) {
	for i, b := range v {
		w |= uint64(b) << (8 * i)
	}
	return w
}
