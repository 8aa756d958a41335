package scan

import (
	"fmt"

	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// indexClaim compares a range index with the values of its field.
type indexClaim struct {
	node  *schema.Node
	index *colstream.RangeIndex
	// block is the current one, stats what the index states about it, in room, and invalid how many nulls and NaNs it has so far.
	block   int
	stats   *filter.Stats
	room    blockStats
	invalid uint64
}

// seek makes the block of a position the current one.
func (x *indexClaim) seek(at uint64) {
	if i := int(at / x.index.BlockSize); x.stats == nil || i != x.block {
		x.block, x.stats, x.invalid = i, x.room.of(x.node, x.index, i), 0
	}
}

// end is where the block of a position ends, or what comes before that: most. A nil claim has no blocks.
func (x *indexClaim) end(at, most uint64) uint64 {
	if x == nil {
		return most
	}
	return min(most, x.index.Range(int(at/x.index.BlockSize)).End)
}

// reported is how many nulls and NaNs the index gives the current block.
func (x *indexClaim) said() uint64 {
	if x.index.Invalid == nil {
		return 0
	}
	return uint64(x.index.Invalid[x.block])
}

// take compares the value at a position with the index and names what contradicts it, "" if nothing. Positions come in
// order. A nil claim holds for everything.
func (x *indexClaim) take(at uint64, valid bool, v filter.Value) string {
	if x == nil {
		return ""
	}
	x.seek(at)
	if !valid || isFloating(x.node) && notANumber(x.node, v) {
		x.invalid++
	} else if what := contradicts(x.node, x.stats, v); what != "" {
		return fmt.Sprintf("position %d of the stripe is %s of its block of the range index", at, what)
	}
	r := x.index.Range(x.block)
	if at+1 < r.End || x.said() == x.invalid {
		return ""
	}
	return fmt.Sprintf("positions [%d, %d) of the stripe have %d nulls and NaNs, the range index says %d", r.Start, r.End, x.invalid, x.said())
}

// takeRun is take of all values of a run that starts at a position and ends in the same block. It only reports whether there is a
// contradiction.
func (x *indexClaim) takeRun(at uint64, r *run) (holds bool) {
	if x == nil {
		return true
	}
	x.seek(at)
	x.invalid += r.invalid()
	if !r.within(x.node, x.stats) {
		return false
	}
	return at+r.positions < x.index.Range(x.block).End || x.said() == x.invalid
}
