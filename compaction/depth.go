package compaction

import "slices"

// Overlap reports how many shards a filter on one value may have to read: the depth that clustering lowers.
type Overlap struct {
	// Column whose bounds were looked at: the first of the order where the policy bounds the depth, else the first time, else the first number.
	Column string `json:"column"`
	// Depth is the most shards of the plan whose bounds hold the same value, 1 if no two do. Shards counts those whose bounds are known.
	Depth  int `json:"depth"`
	Shards int `json:"shards"`
}

// bounds collects ranges of one column, ends included.
type bounds struct{ lows, highs []float64 }

func (b *bounds) add(r valueRange) {
	if r.state == knownRange && r.low <= r.high { // NaN has no place
		b.lows, b.highs = append(b.lows, r.low), append(b.highs, r.high)
	}
}

// depth is the most ranges that share a value. It sorts what was collected.
func (b *bounds) depth() (most int) {
	slices.Sort(b.lows)
	slices.Sort(b.highs)
	ended := 0
	for i, low := range b.lows {
		for b.highs[ended] < low {
			ended++
		}
		most = max(most, i+1-ended)
	}
	return most
}

// tellOverlap fills the plan's Overlap, if the table has a column with places on a line.
func (p *planner) tellOverlap() {
	if n := len(p.bounds.lows); n > 0 {
		p.plan.Overlap = &Overlap{Column: p.columns[0].node.Name, Depth: p.bounds.depth(), Shards: n}
	}
}
