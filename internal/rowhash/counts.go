package rowhash

import "github.com/zeebo/xxh3"

// Counts reports how often rows come, by the XXH3-128 of their bytes, in 24 bytes a place, of which at least a quarter is free. The zero value
// counts nothing yet.
type Counts struct {
	slots []count // a power of two
	used  int
}

// count is how often a row comes; used distinguishes it from a free place.
type count struct {
	hash xxh3.Uint128
	n    uint32
	used bool
}

// leastSlots are the places of the first rows.
const leastSlots = 1 << 10

// Add counts a row once more.
func (c *Counts) Add(h xxh3.Uint128) {
	if 4*(c.used+1) > 3*len(c.slots) {
		c.grow()
	}
	s := c.find(h)
	if !s.used {
		*s = count{hash: h, used: true}
		c.used++
	}
	s.n++
}

// Take counts a row off, and reports whether it was there.
func (c *Counts) Take(h xxh3.Uint128) bool {
	if len(c.slots) == 0 {
		return false
	}
	s := c.find(h)
	if s.n == 0 {
		return false
	}
	s.n--
	return true
}

// find is the place of a row, or the free one where it belongs.
func (c *Counts) find(h xxh3.Uint128) *count {
	mask := uint64(len(c.slots) - 1)
	for at := h.Lo & mask; ; at = (at + 1) & mask {
		if s := &c.slots[at]; !s.used || s.hash == h {
			return s
		}
	}
}

func (c *Counts) grow() {
	old := c.slots
	c.slots = make([]count, max(leastSlots, 2*len(old)))
	for i := range old {
		if old[i].used {
			*c.find(old[i].hash) = old[i]
		}
	}
}
