package scan

import (
	"context"
	"maps"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/stats"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// shardClaims are what the shard states about its fields, and what was counted of them in its stripes.
type shardClaims struct {
	plan    *plan
	counted map[uint32]*metapb.FieldDescriptor
	// nullsOnly are the fields of which a stripe was not read whole: only positions and nulls are known.
	nullsOnly map[uint32]bool
}

func newShardClaims(p *plan) *shardClaims {
	return &shardClaims{plan: p, counted: map[uint32]*metapb.FieldDescriptor{}, nullsOnly: map[uint32]bool{}}
}

// of is what the shard states about a field; nil if nothing, or nothing that can be read, which is found elsewhere.
func (s *shardClaims) of(ctx context.Context, n *schema.Node) *metapb.FieldDescriptor {
	d, err := s.plan.descriptor(ctx, -1, n.ID)
	if err != nil {
		return nil
	}
	return d
}

// add adds what was counted of a field in one more stripe.
func (s *shardClaims) add(n *schema.Node, got *metapb.FieldDescriptor) {
	s.counted[n.ID] = stats.Fold(s.counted[n.ID], got)
}

// addNulls adds a stripe of which only the number of positions and of nulls is known.
func (s *shardClaims) addNulls(n *schema.Node, positions, nulls uint64) {
	s.nullsOnly[n.ID] = true
	s.add(n, &metapb.FieldDescriptor{PositionCount: positions, NullCount: &nulls})
}

// addAll adds what was counted in one more stripe.
func (s *shardClaims) addAll(more *shardClaims) {
	for id, got := range more.counted {
		s.counted[id] = stats.Fold(s.counted[id], got)
	}
	maps.Copy(s.nullsOnly, more.nullsOnly)
}

// check compares the sums with what the shard states, where it speaks of as many positions.
func (s *shardClaims) check(ctx context.Context) error {
	var failed error
	s.plan.q.Project.Walk(func(path string, n *schema.Node) bool {
		d, got := s.of(ctx, n), s.counted[n.ID]
		if d == nil || got == nil || d.PositionCount != got.PositionCount {
			return true
		}
		if s.nullsOnly[n.ID] {
			got = &metapb.FieldDescriptor{PositionCount: got.PositionCount, NullCount: got.NullCount}
		}
		if what := differs(got, d); what != "" {
			failed = corrupt.Locate(corrupt.At(-1, "field %q of the shard: %s", path, what), s.plan.q.Root.URL(), 0)
		}
		return failed == nil
	})
	return failed
}
