package compaction

import "math"

// PruningLoss reports how much worse a scan can prune after a merge.
type PruningLoss struct {
	// Column that loses most.
	Column string `json:"column"`
	// Factor is the width of the merged range over the mean width of the inputs' ranges: 1 is no loss, the
	// number of inputs is what adjacent shards without overlap lose, more indicates distant shards.
	Factor float64 `json:"factor"`
}

// pruningLoss finds the watched column whose bounds widen most; nil if none widens.
func pruningLoss(columns []watch, r *run) *PruningLoss {
	var worst *PruningLoss
	for i, w := range columns {
		f := r.spreads[i].widening()
		if f > 1 && (worst == nil || f > worst.Factor) {
			worst = &PruningLoss{Column: w.node.Name, Factor: math.Round(f*100) / 100}
		}
	}
	return worst
}

// spread follows the ranges of a watched column over the shards of a group.
type spread struct {
	low, high, sum float64
	count          int
	unknown        bool
}

func (s *spread) add(r valueRange) {
	switch r.state {
	case unknownRange:
		s.unknown = true
	case knownRange:
		if s.count++; s.count == 1 {
			s.low, s.high = r.low, r.high
		}
		s.low, s.high, s.sum = min(s.low, r.low), max(s.high, r.high), s.sum+(r.high-r.low)
	}
}

// widening is the factor, 0 where it is unknown.
func (s *spread) widening() float64 {
	if s.unknown || s.count < 2 || s.sum <= 0 || math.IsInf(s.sum, 1) {
		return 0
	}
	return (s.high - s.low) / (s.sum / float64(s.count))
}
