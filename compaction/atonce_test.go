package compaction

import (
	"testing"

	"github.com/shardcat/shardcat/shardfmt/merge"
)

// TestPacksAtOnce: what a concatenation would leave in many stripes of a middling size is packed, where data may be moved.
func TestPacksAtOnce(t *testing.T) {
	of := func(stripes, objects, size int64) run {
		return run{stripes: stripes, objects: objects, bytes: stripes*size + 5000, metadata: 5000}
	}
	for name, c := range map[string]struct {
		run    run
		policy Policy
		want   bool
	}{
		"many":                          {of(manyAtOnce, manyAtOnce, leastAtOnce), Policy{}, true},
		"few stripes":                   {of(manyAtOnce-1, manyAtOnce, leastAtOnce), Policy{}, false},
		"few objects":                   {of(manyAtOnce, manyAtOnce-1, leastAtOnce), Policy{}, false},
		"small stripes":                 {of(manyAtOnce, manyAtOnce, leastAtOnce-1), Policy{}, false},
		"as large as they may be":       {of(manyAtOnce, manyAtOnce, merge.PackBelow-1), Policy{}, true},
		"large stripes":                 {of(manyAtOnce, manyAtOnce, merge.PackBelow), Policy{}, false},
		"not allowed":                   {of(manyAtOnce, manyAtOnce, leastAtOnce), Policy{NoPack: true}, false},
		"within the bytes of a run":     {of(manyAtOnce, manyAtOnce, leastAtOnce), Policy{MaxBytesPerRun: manyAtOnce*leastAtOnce + 5000}, true},
		"more than the bytes a run has": {of(manyAtOnce, manyAtOnce, leastAtOnce), Policy{MaxBytesPerRun: manyAtOnce*leastAtOnce + 4999}, false},
	} {
		p := &planner{policy: c.policy}
		if got := p.packsAtOnce(&c.run); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
