package compaction

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/manifest"
)

// Shards that have their target are left alone, unless more than max-overlap-depth of them hold the same values of the column that the
// table is ordered by: a filter on one value reads them all. These are rewritten together, sorted, as shards that follow one another. Smaller
// ones are not counted; they will be merged yet.

// overlapTargets bounds a group, in targets: what is sorted at a time.
const overlapTargets = 16

// newOverlap is the column whose bounds must not overlap too often, and nothing where the policy requires none, or the table can't have it.
func (p *planner) newOverlap(t *catalog.Table) error {
	if p.policy.MaxOverlapDepth == 0 {
		return nil
	}
	keys, err := p.policy.order()
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		keys = t.SortOrder()
	}
	if len(keys) == 0 {
		p.unmet("max-overlap-depth needs an order: neither the policy nor the table has one")
		return nil
	}
	n, err := t.Schema().Lookup(keys[0].Column)
	if err != nil {
		return err
	}
	if !onLine(n) {
		p.unmet("max-overlap-depth is for numbers and times: the order begins with %s", keys[0].Column)
		return nil
	}
	p.columns = slices.Insert(p.columns, 0, watch{n, t.FieldIDs()[n.ID]})
	p.columns, p.overlap = p.columns[:min(len(p.columns), lossColumns)], true
	return nil
}

// mayOverlap reports whether an entry that is left alone for a reason counts for the depth.
func (p *planner) mayOverlap(e *manifest.Entry, n need, why string) bool {
	return p.overlap && n == noNeed && !p.policy.NoRebuild && (why == hasRecords || why == hasSize) && e.Created.Known()
}

// groupOverlaps looks for depths among the shards of one class that lie within max-creation-range.
func (p *planner) groupOverlaps(c *class) {
	slices.SortFunc(c.candidates, p.kept.neighbours)
	for rest := c.candidates; len(rest) > 0; {
		near, created := 1, rest[0].created
		for ; near < len(rest); near++ {
			created = created.Union(rest[near].created)
			if most := p.policy.MaxCreationRange; most > 0 && span(created) > most {
				break
			}
		}
		window := rest[:near]
		rest = rest[near:]
		for _, deep := range p.depths(window) {
			p.separate(c, deep)
		}
	}
}

// spanning is a shard by the range of its values.
type spanning struct {
	place
	valueRange
	taken bool
}

// depths are the sets of shards that overlap more often than they may, in the order of their lower bounds; all others are left.
func (p *planner) depths(window []place) (out [][]place) {
	shards := make([]*spanning, len(window))
	for i, c := range (Inputs{p.kept, window}).all() {
		shards[i] = &spanning{place: c.place, valueRange: c.ranges[0]}
	}
	slices.SortStableFunc(shards, func(a, b *spanning) int { return cmp.Compare(a.low, b.low) })
	var active []*spanning
	var deep []place
	for _, s := range shards {
		if s.state != knownRange || s.low == s.high { // one value can't be parted
			continue
		}
		active = slices.DeleteFunc(active, func(a *spanning) bool { return a.high <= s.low })
		if !slices.ContainsFunc(active, func(a *spanning) bool { return a.taken }) && len(deep) > 0 {
			out, deep = append(out, deep), nil
		}
		if active = append(active, s); len(active) <= p.policy.MaxOverlapDepth {
			continue
		}
		for _, a := range active {
			if !a.taken {
				a.taken = true
				deep = append(deep, a.place)
			}
		}
	}
	if len(deep) > 0 {
		out = append(out, deep)
	}
	var c candidate
	for _, s := range shards {
		if !s.taken {
			p.kept.read(s.place, &c)
			p.leaveAtTarget(&c)
		}
	}
	return out
}

func (p *planner) leaveAtTarget(c *candidate) {
	why := hasSize
	if p.reaches(c.records, p.policy.TargetRecords) {
		why = hasRecords
	}
	p.plan.Left[why]++
}

// separate makes groups of shards that overlap, of up to overlapTargets each.
func (p *planner) separate(c *class, deep []place) {
	r := run{policy: &p.policy, columns: p.shapes.columns()}
	r.start(deep)
	for i, next := range (Inputs{p.kept, deep}).all() {
		if len(r.inputs) >= p.policy.MaxInputs || max(p.targets(&r), 1) >= overlapTargets {
			p.separated(c, &r, len(deep))
			r.start(deep[i:])
		}
		r.add(next)
	}
	p.separated(c, &r, len(deep))
}

// targets is how many merged shards a run's records come to.
func (p *planner) targets(r *run) int64 {
	return max((r.records-r.deleted)/p.policy.TargetRecords, r.bytes/p.policy.TargetSize)
}

// separated makes a group whose outputs have at least a target each, so that no concatenation ever joins them again.
func (p *planner) separated(c *class, r *run, depth int) {
	if len(r.inputs) < 2 {
		for _, in := range p.inputs(r).all() {
			p.leaveAtTarget(in)
		}
		return
	}
	g := p.rebuild(c, r, c.need, fmt.Sprintf("%d shards overlap in %s, and max-overlap-depth is %d", depth, p.columns[0].node.Name, p.policy.MaxOverlapDepth))
	outputs := max(1, p.targets(r))
	g.Outputs, g.ShardRows = int(outputs), (g.Records+outputs-1)/outputs
	p.plan.Groups = append(p.plan.Groups, g)
}
