package scan

import (
	"fmt"

	"github.com/shardcat/shardcat/internal/buffer"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// indexClaim holds a range index against the values of its field.
type indexClaim struct {
	node  *schema.Node
	index *buffer.RangeIndex
	// block is the one at hand, stats what the index says of it, invalid how many nulls and NaNs it has so far.
	block   int
	stats   *filter.Stats
	invalid uint64
}

// take holds the value at a position against the index and names what contradicts it, "" if nothing. Positions come in
// order. A nil claim holds against everything.
func (x *indexClaim) take(at uint64, valid bool, v filter.Value) string {
	if x == nil {
		return ""
	}
	if i := int(at / x.index.BlockSize); x.stats == nil || i != x.block {
		x.block, x.stats, x.invalid = i, indexedStats(x.node, x.index, i), 0
	}
	r := x.index.Range(x.block)
	if !valid || isFloating(x.node) && notANumber(x.node, v) {
		x.invalid++
	} else if what := contradicts(x.node, x.stats, v); what != "" {
		return fmt.Sprintf("position %d of the stripe is %s of its block of the range index", at, what)
	}
	if at+1 < r.End {
		return ""
	}
	said := uint64(0)
	if x.index.Invalid != nil {
		said = uint64(x.index.Invalid[x.block])
	}
	if said != x.invalid {
		return fmt.Sprintf("positions [%d, %d) of the stripe have %d nulls and NaNs, the range index says %d", r.Start, r.End, x.invalid, said)
	}
	return ""
}
