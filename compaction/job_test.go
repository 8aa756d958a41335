package compaction

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardcat/shardcat/catalog"
)

// objectsOf are the roots and data objects of the table's folder, live or not.
func objectsOf(t *testing.T, tbl *catalog.Table) (out []string) {
	t.Helper()
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

// eachMode does a test for each kind of work, on a table of four small shards.
func eachMode(t *testing.T, do func(t *testing.T, g *ground, policy Policy)) {
	for mode, policy := range map[Mode]Policy{
		Concat: {}, Pack: {PackAll: true}, Rebuild: {},
	} {
		t.Run(string(mode), func(t *testing.T) {
			g := newGround(t)
			fill(t, g.create(), 4)
			do(t, g, policy)
		})
	}
}

func begun(t *testing.T, tbl *catalog.Table, mode Mode, policy Policy, o Options) *Job {
	t.Helper()
	plan, err := NewPlan(ctx, tbl, Policy{})
	if err != nil || len(plan.Groups) != 1 {
		t.Fatalf("%+v, %v", plan, err)
	}
	plan.Groups[0].Mode = mode
	j, err := Begin(ctx, tbl, &plan.Groups[0], policy, o)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func modeOf(t *testing.T) Mode { return Mode(t.Name()[strings.LastIndexByte(t.Name(), '/')+1:]) }

// What a process wrote and did not live to commit is committed by the next one; and if the first was only stopped, and finds that it has
// lost its lease, it deletes nothing of it.
func TestResumeCommitsWhatWasWritten(t *testing.T) {
	eachMode(t, func(t *testing.T, g *ground, policy Policy) {
		before := contents(t, g.load(nil))
		stopped := begun(t, g.load(nil), modeOf(t), policy, Options{Fence: func(context.Context) error { return catalog.ErrLeaseLost }})
		if err := stopped.Write(ctx); err != nil {
			t.Fatal(err)
		}
		tbl := g.load(nil)
		written := objectsOf(t, tbl)
		done, err := ResumeAll(ctx, tbl, policy, Options{Check: true})
		if err != nil || len(done) != 1 || done[0].Mode != modeOf(t) || done[0].Inputs != 4 || done[0].Records != 40 || done[0].Before {
			t.Fatalf("%+v, %v", done, err)
		}
		if err := stopped.ReadBack(ctx); err != nil {
			t.Error(err)
		}
		if _, err := stopped.Commit(ctx); !errors.Is(err, catalog.ErrLeaseLost) {
			t.Errorf("the stopped one: %v", err)
		}
		after := g.load(nil)
		if got := contents(t, after); !slices.Equal(got, before) || after.Describe().Shards != 1 || !slices.Equal(objectsOf(t, after), written) {
			t.Errorf("%d rows became %d in %d shards; %v became %v", len(before), len(got), after.Describe().Shards, written, objectsOf(t, after))
		}
		if open, err := after.Jobs(ctx, false); err != nil || len(open) != 0 {
			t.Errorf("%d jobs are open: %v", len(open), err)
		}
	})
}

// A job that was killed before it had written everything is not taken up; the work is done again, and rows stay as they are.
func TestResumePassesOverWhatIsNotWritten(t *testing.T) {
	eachMode(t, func(t *testing.T, g *ground, policy Policy) {
		before := contents(t, g.load(nil))
		killed := begun(t, g.load(nil), modeOf(t), policy, Options{})
		tbl := g.load(nil)
		if _, err := Resume(ctx, tbl, killed.Name(), policy, Options{}); !errors.Is(err, catalog.ErrNotWritten) {
			t.Errorf("%v", err)
		}
		if done, err := ResumeAll(ctx, tbl, policy, Options{}); err != nil || len(done) != 0 {
			t.Errorf("%+v, %v", done, err)
		}
		if report, err := Compact(ctx, tbl, Policy{}, Options{}); err != nil || report.ShardsAfter != 1 {
			t.Errorf("%+v, %v", report, err)
		}
		sameContents(t, g.load(nil), before)
	})
}

// A job that is cancelled between two steps, or in one, leaves no object behind and nothing changed.
func TestCancelLeavesNothing(t *testing.T) {
	eachMode(t, func(t *testing.T, g *ground, policy Policy) {
		tbl := g.load(nil)
		head, before := tbl.Head(), objectsOf(t, tbl)
		gone, cancel := context.WithCancel(ctx)
		steps := []func(*Job) error{
			func(*Job) error { return nil },
			func(j *Job) error { return j.Write(ctx) },
			func(j *Job) error { return errors.Join(j.Write(ctx), j.ReadBack(ctx)) },
			func(j *Job) error { cancel(); return j.Write(gone) },
		}
		for i, step := range steps {
			j := begun(t, tbl, modeOf(t), policy, Options{})
			if err := step(j); (err != nil) != (i == 3) {
				t.Fatalf("step %d: %v", i, err)
			}
			j.Cancel(ctx)
			if got := objectsOf(t, tbl); !slices.Equal(got, before) {
				t.Errorf("after step %d: %d objects, there were %d", i, len(got), len(before))
			}
			if open, err := tbl.Jobs(ctx, false); err != nil || len(open) != 0 {
				t.Errorf("after step %d: %d open jobs, %v", i, len(open), err)
			}
		}
		if after := g.load(nil); after.Head() != head {
			t.Error("the table has changed")
		}
	})
}

// A job that is delivered again goes on where the first delivery stands, and is done once.
func TestDeliveredAgain(t *testing.T) {
	eachMode(t, func(t *testing.T, g *ground, policy Policy) {
		before := contents(t, g.load(nil))
		first := begun(t, g.load(nil), modeOf(t), policy, Options{JobID: "again"})
		if err := first.Write(ctx); err != nil {
			t.Fatal(err)
		}
		written := objectsOf(t, g.load(nil))
		second := begun(t, g.load(nil), modeOf(t), policy, Options{JobID: "again"})
		if second.step != stepReadBack {
			t.Fatalf("the second delivery is at %q", second.step)
		}
		for i, j := range []*Job{second, first} {
			if err := errors.Join(j.Write(ctx), j.ReadBack(ctx)); err != nil {
				t.Fatal(err)
			}
			if r, err := j.Commit(ctx); err != nil || r.Before != (i > 0) {
				t.Errorf("%+v, %v", r, err)
			}
		}
		after := g.load(nil)
		if got := objectsOf(t, after); !slices.Equal(got, written) {
			t.Errorf("%d objects were written, there are %d", len(written), len(got))
		}
		if got := contents(t, after); !slices.Equal(got, before) || after.Describe().Shards != 1 {
			t.Errorf("%d rows became %d in %d shards", len(before), len(got), after.Describe().Shards)
		}
	})
}

// TestDeliveredAgainUnwritten: a job whose earlier run has written nothing begins again.
func TestDeliveredAgainUnwritten(t *testing.T) {
	eachMode(t, func(t *testing.T, g *ground, policy Policy) {
		before := contents(t, g.load(nil))
		begun(t, g.load(nil), modeOf(t), policy, Options{JobID: "again"})
		second := begun(t, g.load(nil), modeOf(t), policy, Options{JobID: "again"})
		if second.step != stepWrite {
			t.Fatalf("the second delivery is at %q", second.step)
		}
		if err := errors.Join(second.Write(ctx), second.ReadBack(ctx)); err != nil {
			t.Fatal(err)
		}
		if _, err := second.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		sameContents(t, g.load(nil), before)
	})
}

// TestResumeReadsBack: what an earlier process wrote is compared with the inputs before it is committed.
func TestResumeReadsBack(t *testing.T) {
	g := newGround(t)
	fill(t, g.create(), 4)
	tbl := g.load(nil)
	before := contents(t, tbl)
	killed := begun(t, tbl, Concat, Policy{}, Options{})
	if err := killed.Write(ctx); err != nil {
		t.Fatal(err)
	}
	client := tbl.Catalog().Client()
	root, _, err := client.ReadAll(ctx, killed.group.Inputs.Paths()[0], 1<<20)
	if err == nil {
		err = client.Delete(ctx, killed.entries[0].Path, "")
	}
	if err == nil {
		err = client.Put(ctx, killed.entries[0].Path, root)
	}
	if err != nil {
		t.Fatal(err)
	}
	if done, err := ResumeAll(ctx, g.load(nil), Policy{}, Options{}); !errors.Is(err, ErrContent) || len(done) != 0 {
		t.Errorf("ten rows in place of forty: %+v, %v", done, err)
	}
	sameContents(t, g.load(nil), before)
}

// written plans the one group of a table, and writes its job up to the commit.
func written(t *testing.T, tbl *catalog.Table, policy Policy) (*Job, *Group) {
	t.Helper()
	plan, err := NewPlan(ctx, tbl, policy)
	if err != nil || len(plan.Groups) != 1 {
		t.Fatalf("%+v, %v", plan, err)
	}
	j, err := Begin(ctx, tbl, &plan.Groups[0], policy, Options{})
	if err == nil {
		err = j.Write(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	return j, &plan.Groups[0]
}

// A rebuild of which some stripes stay is a job like the others: cancelled it leaves nothing, killed it is taken up.
func TestJobOfSmallStripes(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 9)
	if _, err := tbl.Ingest(ctx, rows(1000, 1000), catalog.IngestOptions{CreationTime: time.Date(2024, 1, 1, 1, 0, 0, 0, time.UTC)}); err != nil {
		t.Fatal(err)
	}
	policy := Policy{RebuildStripes: 10}
	if _, err := Compact(ctx, tbl, Policy{NoRebuild: true}, Options{}); err != nil {
		t.Fatal(err)
	}
	begin := func() *Job {
		j, g := written(t, tbl, policy)
		if !g.SmallStripes {
			t.Fatalf("%+v", g)
		}
		return j
	}
	rows, objects := contents(t, tbl), objectsOf(t, tbl)
	begin().Cancel(ctx)
	if got := objectsOf(t, tbl); !slices.Equal(got, objects) {
		t.Errorf("%v became %v", objects, got)
	}
	for _, live := range []int64{1090, 0} { // what is written is a share of the bytes, and as planned where no row is live
		plan, err := NewPlan(ctx, tbl, policy)
		if err != nil || len(plan.Groups) != 1 {
			t.Fatalf("%+v, %v", plan, err)
		}
		job, err := Begin(ctx, tbl, &plan.Groups[0], policy, Options{})
		if err != nil {
			t.Fatal(err)
		}
		const planned = 12345
		job.group.Records, job.group.BytesMoved = live, planned
		want := int64(planned)
		if live > 0 {
			want = int64(float64(job.group.Bytes) * 90 / float64(live))
		}
		if err := job.Write(ctx); err != nil || job.result.BytesMoved != want || want == 0 {
			t.Errorf("%d live rows: %d bytes of %d, want %d, %v", live, job.result.BytesMoved, job.group.Bytes, want, err)
		}
		job.Cancel(ctx)
	}
	begin()
	tbl = g.load(nil)
	done, err := ResumeAll(ctx, tbl, policy, Options{Check: true})
	if err != nil || len(done) != 1 || done[0].Records != 1090 || tbl.Describe().Shards != 2 {
		t.Errorf("%+v, %v: %d shards", done, err, tbl.Describe().Shards)
	}
	if got := contents(t, g.load(nil)); !slices.Equal(got, rows) {
		t.Errorf("%d rows became %d others", len(rows), len(got))
	}
}

// TestRowCountBeforeCommit: what was written of a group must have its live records, in every mode, or nothing is committed and what was written goes.
func TestRowCountBeforeCommit(t *testing.T) {
	eachMode(t, func(t *testing.T, g *ground, policy Policy) {
		before, head := contents(t, g.load(nil)), g.load(nil).Head()
		job := begun(t, g.load(nil), modeOf(t), policy, Options{})
		if err := job.Write(ctx); err != nil {
			t.Fatal(err)
		}
		job.entries[0].Records--
		if err := job.ReadBack(ctx); !errors.Is(err, ErrContent) {
			t.Errorf("a row less: %v", err)
		}
		if _, err := job.Commit(ctx); err == nil {
			t.Error("committed")
		}
		if after := g.load(nil); after.Head() != head || !slices.Equal(contents(t, after), before) {
			t.Errorf("snapshot %d, before %d", after.Head(), head)
		}
	})
}
