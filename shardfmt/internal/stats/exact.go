package stats

import (
	"bytes"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

const (
	// exactValues and exactBytes are how many different values, and of how many bytes together, are counted exactly: 20 KiB of hashes and
	// slots beside the values, for each field of the stripe available.
	exactValues = 1024
	exactBytes  = 64 << 10
	// mostExactBytes bounds the bytes of values where the caller requests more of them.
	mostExactBytes = 16 << 20
)

// counter counts different values: with the values themselves, as long as they are few, and with a sketch.
type counter struct {
	sketch sketch
	exact  exactSet
}

// newCounter counts up to limit values exactly, none if it is negative, exactValues if 0.
func newCounter(o *Options) *counter {
	c := new(counter)
	switch {
	case o.Reference:
		c.exact.full = true
	case o.Exact > exactValues:
		c.exact.values, c.exact.bytes = o.Exact, mostExactBytes
	default:
		c.exact.values, c.exact.bytes = exactValues, exactBytes
	}
	return c
}

// add counts a value, given by the bytes that are hashed. It states true if the value is known to have been counted before.
func (c *counter) add(value []byte) (known bool) { return c.addHashed(sketchHash(value), value) }

// addHashed is add of a value whose sketchHash is h.
func (c *counter) addHashed(h uint64, value []byte) (known bool) {
	if c.exact.add(h, value) {
		return true
	}
	c.sketch.addHash(h)
	return false
}

// info is the message, with the exact count if that is known.
func (c *counter) info() *metapb.CardinalityInfo {
	m := c.sketch.info()
	if !c.exact.full {
		n := uint64(len(c.exact.hashes))
		m.Count, m.IsEstimate = &n, false
	}
	return m
}

// exactSet holds different values until they are too many.
type exactSet struct {
	values, bytes int  // the limits
	full          bool // it was given up
	tooMany       bool // there are more than values of them

	slots  []uint32 // 1 + the index of a value, 0 for none; a power of two, at most half full
	hashes []uint64 // of the values
	ends   []uint32 // of the values in data
	data   []byte
}

// add reports whether the value with the hash h is in the set; if not, it is put into it.
func (s *exactSet) add(h uint64, value []byte) (known bool) {
	if s.full {
		return false
	}
	if 2*(len(s.hashes)+1) > len(s.slots) {
		s.grow()
	}
	at := s.find(h, value)
	if s.slots[at] != 0 {
		return true
	}
	if len(s.hashes) == s.values || len(s.data)+len(value) > s.bytes {
		*s = exactSet{full: true, tooMany: len(s.hashes) == s.values}
		return false
	}
	s.hashes, s.data = append(s.hashes, h), append(s.data, value...)
	s.ends = append(s.ends, uint32(len(s.data)))
	s.slots[at] = uint32(len(s.hashes))
	return false
}

// find is the slot of a value, or the free one where it belongs.
func (s *exactSet) find(h uint64, value []byte) uint64 {
	mask := uint64(len(s.slots) - 1)
	for at := h & mask; ; at = (at + 1) & mask {
		i := s.slots[at]
		if i == 0 || s.hashes[i-1] == h && bytes.Equal(s.value(i-1), value) {
			return at
		}
	}
}

func (s *exactSet) value(i uint32) []byte {
	start := uint32(0)
	if i > 0 {
		start = s.ends[i-1]
	}
	return s.data[start:s.ends[i]]
}

func (s *exactSet) grow() {
	s.slots = make([]uint32, max(16, 2*len(s.slots)))
	mask := uint64(len(s.slots) - 1)
	for i, h := range s.hashes {
		at := h & mask
		for s.slots[at] != 0 {
			at = (at + 1) & mask
		}
		s.slots[at] = uint32(i + 1)
	}
}

// exactCount is a cardinality without a sketch.
func exactCount(n uint64) *metapb.CardinalityInfo { return &metapb.CardinalityInfo{Count: &n} }

// IsExact reports whether a cardinality is a count and no estimate.
func IsExact(c *metapb.CardinalityInfo) bool { return c.GetCount() > 0 && !c.GetIsEstimate() }
