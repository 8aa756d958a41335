package compaction

import (
	"math"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// PruningLoss tells how much worse a scan can prune after a merge.
type PruningLoss struct {
	// Column that loses most.
	Column string `json:"column"`
	// Factor is the width of the merged range over the mean width of the inputs' ranges: 1 is no loss, the
	// number of inputs is what neighbours without overlap lose, more is the mark of far neighbours.
	Factor float64 `json:"factor"`
}

// pruningLoss finds the column of numbers or times whose bounds widen most; nil if none widens.
func pruningLoss(t *catalog.Table, entries []*manifest.Entry) *PruningLoss {
	var worst *PruningLoss
	ids := t.FieldIDs()
	for _, n := range t.Schema().Fields {
		f := widening(n, ids[n.ID], entries)
		if f > 1 && (worst == nil || f > worst.Factor) {
			worst = &PruningLoss{Column: n.Name, Factor: math.Round(f*100) / 100}
		}
	}
	return worst
}

// widening is the factor of one column, 0 where it can't be told.
func widening(n *schema.Node, id int, entries []*manifest.Entry) float64 {
	low, high, sum := math.Inf(1), math.Inf(-1), 0.0
	count := 0
	for _, e := range entries {
		c, ok := e.Columns[id]
		if ok && c.Nulls != manifest.Unknown && c.Nulls == c.Values {
			continue // nulls only: nothing to widen
		}
		a, okLow := position(n, manifest.BoundValue(n, c.Lower))
		b, okHigh := position(n, manifest.BoundValue(n, c.Upper))
		if !okLow || !okHigh {
			return 0
		}
		low, high, sum = min(low, a), max(high, b), sum+(b-a)
		count++
	}
	if count < 2 || sum <= 0 || math.IsInf(sum, 1) {
		return 0
	}
	return (high - low) / (sum / float64(count))
}

// position places a value on a line.
func position(n *schema.Node, v *filter.Value) (float64, bool) {
	switch {
	case v == nil:
		return 0, false
	case n.Basic == schema.Float32 || n.Basic == schema.Float64:
		return v.Float, true
	case n.Basic == schema.DateTime || n.Basic.IsInteger() && n.Signed:
		return float64(v.Int), true
	case n.Basic.IsInteger():
		return float64(v.Uint), true
	}
	return 0, false
}
