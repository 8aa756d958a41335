package compaction

import (
	"fmt"
	"maps"
	"slices"

	"github.com/shardcat/shardcat/internal/plural"
)

// limitBytes leaves out the groups that would move more data than one run may.
func (p *planner) limitBytes() {
	most := p.policy.MaxBytesPerRun
	if most == 0 {
		return
	}
	moved, alone := int64(0), 0
	p.plan.Groups = slices.DeleteFunc(p.plan.Groups, func(g Group) bool {
		if g.BytesMoved == 0 || moved+g.BytesMoved <= most {
			moved += g.BytesMoved
			return false
		}
		if g.BytesMoved > most {
			alone++
		}
		p.plan.Left["max-bytes-per-run is reached"] += g.Inputs.Len()
		return true
	})
	if alone > 0 {
		p.unmet("%s never compacted: each moves more than the %d bytes of max-bytes-per-run", groups(alone, "is", "are"), most)
	}
}

// explain reports what of the policy this table can't have.
func (p *planner) explain() {
	for _, limit := range slices.Sorted(maps.Keys(p.capped)) {
		p.unmet("%s below half of target-records and target-size because of %s", groups(p.capped[limit], "ends", "end"), limit)
	}
	if p.policy.NoConcat && p.policy.NoPack && p.policy.NoRebuild {
		p.unmet("allow-concat, allow-pack and allow-rebuild are false: nothing is ever compacted")
	}
	if p.policy.MaxRows < p.policy.TargetRecords {
		p.unmet("target-records %d is never reached: max-rows allows %d", p.policy.TargetRecords, p.policy.MaxRows)
	}
	if longest := p.policy.MaxCreationRange; p.policy.Lookback > 0 && p.policy.Lookback < longest {
		p.unmet("shards leave lookback %s before adjacent shards fill max-creation-range %s", p.policy.Lookback, longest)
	}
}

// groups is a number of groups with its verb.
func groups(n int, one, more string) string {
	if n == 1 {
		more = one
	}
	return plural.Count(n, "group") + " " + more
}

func (p *planner) unmet(format string, args ...any) {
	p.plan.Unmet = append(p.plan.Unmet, fmt.Sprintf(format, args...))
}
