package compaction_test

import (
	"testing"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
)

// TestPlanTellsCostOfScans: what a plan states of the requests and steps of a scan of all columns, before and after the work, and of the steps of the work, is
// what they take of a remote store.
func TestPlanTellsCostOfScans(t *testing.T) {
	load := func(t *testing.T, table *catalog.Table) int64 {
		if _, err := table.Plan(t.Context(), catalog.ScanOptions{}); err != nil {
			t.Fatal(err)
		}
		return 0
	}
	for _, c := range []struct {
		name         string
		shards, rows int
		policy       compaction.Policy
	}{
		{"concat few", 10, 1000, compaction.Policy{NoRebuild: true, NoPack: true}},
		{"concat", 200, 1000, compaction.Policy{NoRebuild: true, NoPack: true}},
		{"concat large", 24, 60000, compaction.Policy{NoRebuild: true, NoPack: true}},
		{"pack", 70, 9000, compaction.Policy{}},
		{"pack tiny", 200, 1000, compaction.Policy{NoRebuild: true, PackAll: true}},
		{"pack many", 400, 1000, compaction.Policy{NoRebuild: true, PackAll: true}},
		{"pack 200", 200, 9000, compaction.Policy{NoRebuild: true}},
		{"rebuild", 200, 1000, compaction.Policy{}},
		{"rebuild few", 10, 1000, compaction.Policy{RebuildAll: true}},
		{"rebuild large", 70, 20000, compaction.Policy{RebuildAll: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSlowStore(t)
			s.fill(t, c.shards, c.rows)
			before, l := s.measure(t, scan("")), s.measure(t, load)
			var group compaction.Group
			work := s.measure(t, func(t *testing.T, table *catalog.Table) int64 {
				r, err := compaction.Compact(t.Context(), table, c.policy, compaction.Options{})
				if err != nil || len(r.Results) != 1 {
					t.Fatalf("%+v, %v", r, err)
				}
				group = r.Plan.Groups[0]
				return 0
			})
			after, l2 := s.measure(t, scan("")), s.measure(t, load)
			said, did := group.Scan, [2]took{{steps: before.steps - l.steps, gets: before.gets - l.gets}, {steps: after.steps - l2.steps, gets: after.gets - l2.gets}}
			steps := int64(work.steps - l.steps)
			t.Logf("%s of %d bytes: %+v, did %+v; work of %d steps took %d", group.Mode, group.Bytes, *said, did, group.Steps, steps)
			near := func(what string, said, did, by int64) {
				if d := said - did; d > by || d < -by {
					t.Errorf("%s: the plan says %d, it is %d", what, said, did)
				}
			}
			near("requests before", said.GetsBefore, did[0].gets, 1)
			near("requests after", said.GetsAfter, did[1].gets, 2+did[1].gets/10)
			near("steps before", said.StepsBefore, int64(did[0].steps), 1)
			near("steps after", said.StepsAfter, int64(did[1].steps), 1)
			if did[1].steps > did[0].steps || did[1].gets > did[0].gets {
				t.Errorf("a scan takes %+v after the work, %+v before", did[1], did[0])
			}
			near("steps of the work", group.Steps, steps, 3)
		})
	}
}
