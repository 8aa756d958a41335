package compaction

import "math"

// PruningLoss tells how much worse a scan can prune after a merge.
type PruningLoss struct {
	// Column that loses most.
	Column string `json:"column"`
	// Factor is the width of the merged range over the mean width of the inputs' ranges: 1 is no loss, the
	// number of inputs is what neighbours without overlap lose, more is the mark of far neighbours.
	Factor float64 `json:"factor"`
}

// pruningLoss finds the watched column whose bounds widen most; nil if none widens.
func pruningLoss(columns []watch, inputs []*candidate) *PruningLoss {
	var worst *PruningLoss
	for i, w := range columns {
		f := widening(i, inputs)
		if f > 1 && (worst == nil || f > worst.Factor) {
			worst = &PruningLoss{Column: w.node.Name, Factor: math.Round(f*100) / 100}
		}
	}
	return worst
}

// widening is the factor of one column, 0 where it can't be told.
func widening(column int, inputs []*candidate) float64 {
	low, high, sum := math.Inf(1), math.Inf(-1), 0.0
	count := 0
	for i := range inputs {
		switch r := inputs[i].ranges[column]; r.state {
		case unknownRange:
			return 0
		case knownRange:
			low, high, sum = min(low, r.low), max(high, r.high), sum+(r.high-r.low)
			count++
		}
	}
	if count < 2 || sum <= 0 || math.IsInf(sum, 1) {
		return 0
	}
	return (high - low) / (sum / float64(count))
}
