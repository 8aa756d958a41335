package temporal

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/shardcat/shardcat/compaction"
)

// steps calls activities one by one, as a server might deliver them.
type steps struct {
	t   *testing.T
	env *testsuite.TestActivityEnvironment
	a   *Activities
}

func stepsOver(t *testing.T, dir string) *steps {
	s := &steps{t, new(testsuite.WorkflowTestSuite).NewTestActivityEnvironment(), &Activities{open(t, dir), WorkerOptions{Log: quiet}}}
	s.env.RegisterActivity(s.a)
	return s
}

func (s *steps) do(activity any, out any, in ...any) error {
	s.t.Helper()
	v, err := s.env.ExecuteActivity(activity, in...)
	if err == nil && out != nil {
		err = v.Get(out)
	}
	return err
}

func (s *steps) must(activity any, out any, in ...any) {
	s.t.Helper()
	if err := s.do(activity, out, in...); err != nil {
		s.t.Fatal(err)
	}
}

// Every step is delivered twice, to two workers, one after the other and out of order: the group is compacted once.
func TestDuplicateDelivery(t *testing.T) {
	dir := tableOf(t, 6, nil)
	before := contents(t, load(t, dir))
	one, two := stepsOver(t, dir), stepsOver(t, dir)
	var plan planned
	one.must(one.a.Plan, &plan, name.String())
	ref := groupRef{Table: name.String(), Plan: plan.Plan}
	var first, second groupRef
	one.must(one.a.Write, &first, ref)
	two.must(two.a.Write, &second, ref)
	if first.Job == "" || first.Job != second.Job {
		t.Errorf("the second delivery wrote again: %q, %q", first.Job, second.Job)
	}
	for _, s := range []*steps{one, two} {
		s.must(s.a.ReadBack, nil, first)
		s.must(s.a.Commit, nil, first)
	}
	two.must(two.a.ReadBack, nil, second) // late
	if err := two.do(two.a.Write, nil, ref); kindOf(err) != conflictError {
		t.Errorf("a delivery of the first step after the last one: %v", err)
	}
	for _, s := range []*steps{one, two} {
		s.must(s.a.Discard, nil, first)
		s.must(s.a.Finish, nil, name.String(), plan.Plan)
	}
	holds(t, dir, before, 1)
	if n := replaced(t, dir); n != 1 {
		t.Errorf("%d snapshots compact the group", n)
	}
}

// Every step is delivered to two workers at the same time, as happens when a worker stalls past its heartbeat and goes on: whoever is late fails
// with a conflict or finds the work done, one snapshot compacts the group, and no job stays open.
func TestDeliveriesAtTheSameTime(t *testing.T) {
	for _, k := range kinds {
		t.Run(string(k.mode), func(t *testing.T) {
			dir := k.table(t, 6)
			before, already := contents(t, load(t, dir)), replaced(t, dir)
			workers := []*steps{stepsOver(t, dir), stepsOver(t, dir)}
			var plan planned
			workers[0].must(workers[0].a.Plan, &plan, name.String())
			refs, errs := make([]groupRef, len(workers)), make([]error, len(workers))
			both := func(step func(i int, s *steps) error) {
				var all sync.WaitGroup
				for i, s := range workers {
					all.Go(func() { errs[i] = step(i, s) })
				}
				all.Wait()
				for i, err := range errs {
					if err != nil && kindOf(err) != conflictError {
						t.Errorf("worker %d: %v", i, err)
					}
				}
			}
			ref := groupRef{Table: name.String(), Plan: plan.Plan}
			both(func(i int, s *steps) error { return s.do(s.a.Write, &refs[i], ref) })
			// The server takes the first answer to a step for the step's; each of the two may be that.
			both(func(i int, s *steps) error { return s.do(s.a.ReadBack, nil, refs[i]) })
			both(func(i int, s *steps) error { return s.do(s.a.Commit, nil, refs[i]) })
			if errs[0] != nil && errs[1] != nil {
				t.Errorf("nobody committed: %v; %v", errs[0], errs[1])
			}
			for i, s := range workers {
				if errs[i] != nil {
					s.must(s.a.Discard, nil, refs[i])
				}
				s.must(s.a.Finish, nil, name.String(), plan.Plan)
			}
			var next planned // what was written in vain is taken up or closed
			workers[0].must(workers[0].a.Plan, &next, name.String())
			holds(t, dir, before, 1)
			if n := replaced(t, dir) - already; n != 1 {
				t.Errorf("%d snapshots compact the group", n)
			}
		})
	}
}

// replaced counts the snapshots that put shards in the place of others.
func replaced(t *testing.T, dir string) (n int) {
	t.Helper()
	for _, s := range load(t, dir).History() {
		if s.Operation == "replace" {
			n++
		}
	}
	return n
}

func kindOf(err error) string {
	var kind *temporal.ApplicationError
	if errors.As(err, &kind) {
		return kind.Type()
	}
	return ""
}

// Between two steps another writer takes an input: the commit is a conflict, and the rows are the other's.
func TestConflictBetweenSteps(t *testing.T) {
	dir := tableOf(t, 6, nil)
	s := stepsOver(t, dir)
	before := contents(t, load(t, dir))
	var plan planned
	s.must(s.a.Plan, &plan, name.String())
	ref := groupRef{Table: name.String(), Plan: plan.Plan}
	s.must(s.a.Write, &ref, ref)
	if _, err := compaction.Compact(ctx, load(t, dir), compaction.Policy{}, compaction.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := s.do(s.a.Commit, nil, ref); kindOf(err) != conflictError {
		t.Errorf("%v", err)
	}
	holds(t, dir, before, 1)
}

// A job that was written and is discarded leaves nothing; one that was taken up is not deleted.
func TestDiscard(t *testing.T) {
	dir := tableOf(t, 6, nil)
	s := stepsOver(t, dir)
	tbl := load(t, dir)
	objects := func() (out []string) {
		for info, err := range tbl.Catalog().Client().List(ctx, tbl.VaultFolder()) {
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(info.URL, ".amudai.") {
				out = append(out, info.URL)
			}
		}
		return out
	}
	there := len(objects())
	for _, taken := range []bool{false, true} {
		var plan planned
		s.must(s.a.Plan, &plan, name.String())
		ref := groupRef{Table: name.String(), Plan: plan.Plan}
		s.must(s.a.Write, &ref, ref)
		if taken {
			s.must(s.a.ReadBack, nil, ref)
		}
		s.must(s.a.Discard, nil, ref)
		if left := len(objects()) - there; left != map[bool]int{false: 0, true: 1}[taken] {
			t.Errorf("taken up: %v; %d objects are left", taken, left)
		}
	}
}
