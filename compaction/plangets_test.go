package compaction

import (
	"testing"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt"
)

// TestPlanTellsRequests: what a plan states about requests for shards is what the run makes, for each mode and however small shards are.
func TestPlanTellsRequests(t *testing.T) {
	for _, c := range []struct {
		mode   Mode
		policy Policy
	}{{Concat, Policy{NoRebuild: true, NoPack: true}}, {Pack, Policy{NoRebuild: true, PackAll: true}}, {Rebuild, Policy{RebuildAll: true}}} {
		for k := range 6 {
			shards, withIndexes := []int{3, 60, -60}[k%3], k >= 3 // -60: one shard of 60 stripes and another one
			g := newGround(t)
			tbl := g.create()
			if withIndexes {
				indexed(t, tbl)
			}
			fill(t, tbl, max(shards, -shards))
			if shards < 0 {
				if _, err := Compact(ctx, tbl, Policy{NoRebuild: true, NoPack: true}, Options{}); err != nil {
					t.Fatal(err)
				}
				fill(t, tbl, 1)
			}
			o := g.options()
			cat, err := catalog.Open(ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			defer cat.Close()
			if tbl, err = cat.Load(ctx, name); err != nil {
				t.Fatal(err)
			}
			plan, err := NewPlan(ctx, tbl, c.policy)
			if err != nil || len(plan.Groups) != 1 || plan.Groups[0].Mode != c.mode {
				t.Fatal(plan, err)
			}
			before := o.Client.Counters()
			if _, err := Compact(ctx, tbl, c.policy, Options{}); err != nil {
				t.Fatal(err)
			}
			did, said := o.Client.Counters().Sub(before), plan.Groups[0]
			t.Logf("%s of %d shards, indexes %v: said %d GETs and %d PUTs, did %d and %d", c.mode, shards, withIndexes, said.Gets, said.Puts, did.Gets, did.Puts)
			if d := did.Gets - said.Gets; d > 3+said.Gets/20 || d < -3-said.Gets/20 || did.Puts != said.Puts {
				t.Errorf("%s of %d shards, indexes %v: the plan says %d GETs and %d PUTs, the run makes %d and %d", c.mode, shards, withIndexes, said.Gets, said.Puts, did.Gets, did.Puts)
			}
		}
	}
}

// indexed adds hash indexes of two columns.
func indexed(t *testing.T, tbl *catalog.Table) {
	t.Helper()
	for _, column := range []string{"id", "name"} {
		if _, err := tbl.AddIndex(ctx, shardfmt.IndexSpec{Kind: shardfmt.HashIndex, Columns: []string{column}}, catalog.IndexOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}
