package stats

import (
	"encoding/binary"

	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// Days, minutes, delays and quantities lie close together: which of them occur among a few thousand values is notified by a byte for each
// that may, and each is hashed once then.

const (
	// spanValues are the values that are looked at together, widestSpan how far from each other they lie at most.
	spanValues = 2048
	widestSpan = 4096
)

// addSpan counts at most spanValues values, given as numbers from least to most; word gives what is hashed of one. It does nothing, and
// returns false, if they are few, or lie too far apart.
func addSpan[T simd.Integer](d *distinct, values []T, least, most T, word func(T) uint64) bool {
	span := uint64(int64(most)) - uint64(int64(least))
	if span >= widestSpan || span > 4*uint64(len(values)) {
		return false
	}
	var seen [widestSpan]byte
	for _, v := range values {
		seen[uint(uint64(int64(v))-uint64(int64(least)))%widestSpan] = 1
	}
	for at := 0; at <= int(span); at += 8 {
		if binary.LittleEndian.Uint64(seen[at:]) == 0 {
			continue
		}
		for i, b := range seen[at : at+8] {
			if b != 0 {
				d.add(word(least + T(at+i)))
			}
		}
	}
	return true
}

// wholeNumbers gives floats as whole numbers, with their extremes, if all of them are. room has as many places.
func wholeNumbers[T float32 | float64](values []T, room *[spanValues]int32) (whole []int32, least, most int32, ok bool) {
	whole = room[:len(values)]
	least, most = int32(values[0]), int32(values[0])
	for i, v := range values {
		n := int32(v)
		if T(n) != v {
			return nil, 0, 0, false
		}
		whole[i] = n
		least, most = min(least, n), max(most, n)
	}
	return whole, least, most, true
}
