package column

import (
	"slices"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// noRank is the rank of what has no place in an order: null and NaN.
const noRank = ^uint32(0)

// ranks gives the place of each entry among the decimals of the dictionary; equal ones, as 1.0 and 1.00, share one. Where none do, and each
// entry has a place, order are the entries by it, else nil.
func (d *dictionaryBuilder) ranks() (ranks, order []uint32) {
	ranks, order = make([]uint32, len(d.counts)), make([]uint32, 0, len(d.counts))
	for id := range ranks {
		ranks[id] = noRank
		if v := d.value(uint32(id)); v != nil && !decimal.From(v).IsNaN() {
			order = append(order, uint32(id))
		}
	}
	compare := func(a, b uint32) int { return decimal.Compare(decimal.From(d.value(a)), decimal.From(d.value(b))) }
	slices.SortFunc(order, compare)
	shared := false
	for i, id := range order {
		ranks[id] = uint32(i)
		if i > 0 && compare(order[i-1], id) == 0 {
			ranks[id], shared = ranks[order[i-1]], true
		}
	}
	if shared || len(order) < len(ranks) {
		return ranks, nil
	}
	return ranks, order
}

// decimalIndex is the range index of the values so far, by one comparison of numbers for each; nil if there is nothing to
// index. Of equal values the first is kept, as by decimalIndexBuilder.
func (d *dictionaryBuilder) decimalIndex() *colstream.RangeIndex {
	ranks, order := d.ranks()
	x := &colstream.RangeIndex{
		Type: schema.FixedSizeBinary, Span: uint64(len(d.codes)), BlockSize: colstream.RangeIndexBlock, Width: decimal.Size,
	}
	valid := false
	for codes := range slices.Chunk(d.codes, colstream.RangeIndexBlock) {
		least, greatest, invalid := extremes(codes, ranks, order)
		x.Invalid = append(x.Invalid, invalid)
		if int(invalid) == len(codes) {
			x.Min, x.Max = append(x.Min, make([]byte, decimal.Size)...), append(x.Max, make([]byte, decimal.Size)...)
			continue
		}
		x.Min, x.Max = append(x.Min, d.value(least)...), append(x.Max, d.value(greatest)...)
		valid = true
	}
	if !valid {
		return nil
	}
	return x
}

// extremes are the ids of the first least and the first greatest of codes, and how many of them have no rank.
func extremes(codes, ranks, order []uint32) (least, greatest uint32, invalid uint16) {
	if order != nil {
		low, high := noRank, uint32(0)
		for _, id := range codes {
			low, high = min(low, ranks[id]), max(high, ranks[id])
		}
		return order[low], order[high], 0
	}
	low, high := noRank, noRank
	for _, id := range codes {
		r := ranks[id]
		if r == noRank {
			invalid++
			continue
		}
		if high == noRank {
			least, greatest, low, high = id, id, r, r
		} else if r < low {
			least, low = id, r
		} else if r > high {
			greatest, high = id, r
		}
	}
	return least, greatest, invalid
}
