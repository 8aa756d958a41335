package catalog

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/catalog/internal/jobrecord"
	"github.com/shardcat/shardcat/manifest"
)

// TestRedeliveredJobsAreClosed: a process that dies after it recorded its job leaves it open; the delivery that commits closes it, and so does one that finds
// the job committed. A job of another id, or on another branch, stays open.
func TestRedeliveredJobsAreClosed(t *testing.T) {
	ctx := context.Background()
	open := func(t *testing.T, tbl *Table) (ids []string) {
		t.Helper()
		jobs, err := tbl.Jobs(ctx, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range jobs {
			ids = append(ids, j.ID+"@"+j.Ref)
		}
		return ids
	}
	begin := func(t *testing.T, tbl *Table, branch, id string) *Job {
		t.Helper()
		j, before, err := tbl.beginJob(ctx, jobStart{branch: branch, kind: JobAppend, id: id, outputs: anything(tbl)})
		if err != nil || before != nil {
			t.Fatal(before, err)
		}
		return j
	}
	t.Run("killed before its commit", func(t *testing.T) {
		g := newGround(t)
		tbl := g.create(g.open(nil, nil))
		if _, err := appendFake(tbl, "", 1); err != nil {
			t.Fatal(err)
		}
		if _, err := tbl.CreateBranch(ctx, "dev", 0); err != nil {
			t.Fatal(err)
		}
		begin(t, tbl, "", "K0") // dies here
		begin(t, tbl, "", "K0") // and again
		begin(t, tbl, "", "K00")
		begin(t, tbl, "dev", "K0")
		if _, err := appendFake(g.load(g.open(nil, nil)), "K0", 2); err != nil {
			t.Fatal(err)
		}
		if got := open(t, tbl); len(got) != 2 || strings.Contains(strings.Join(got, " "), "K0@ ") {
			t.Errorf("open: %v", got)
		}
	})
	t.Run("killed after its commit", func(t *testing.T) {
		g := newGround(t)
		tbl := g.create(g.open(nil, nil))
		j := begin(t, tbl, "", "K0")
		done, err := j.Append(ctx, []*manifest.Entry{fake(tbl, 1)})
		if err != nil {
			t.Fatal(err)
		}
		if err := tbl.cat.client.Delete(ctx, j.at(".closed.json"), ""); err != nil { // it dies before it closes its record
			t.Fatal(err)
		}
		if again, err := appendFake(g.load(g.open(nil, nil)), "K0", 2); err != nil || !again.Before {
			t.Fatal(again, err)
		}
		if got := open(t, tbl); len(got) != 0 {
			t.Errorf("open: %v", got)
		}
		// What is remembered is the commit, also when its snapshot has expired.
		var end JobEnd
		if err := tbl.cat.records.Read(ctx, j.at(".closed.json"), &end); err != nil || end.Outcome != jobrecord.Committed || end.Snapshot != done.SnapshotID {
			t.Errorf("%+v, %v", end, err)
		}
	})
}

// TestWhyOfLostRoots: what a lost root needs is reported for it, of its stripes, and of objects that nothing reaches: none of them is collected.
func TestWhyOfLostRoots(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	ingest(t, tbl, IngestOptions{}, rows(10, 10))
	var roots []string
	for e, err := range tbl.Entries(ctx, At{}) {
		if err != nil {
			t.Fatal(err)
		}
		roots = append(roots, e.Path)
	}
	if err := tbl.cat.client.Delete(ctx, roots[0], ""); err != nil {
		t.Fatal(err)
	}
	why := func(url string) *ObjectStatus {
		t.Helper()
		w, err := tbl.Why(ctx, url, CollectOptions{})
		if err != nil {
			t.Fatalf("%s: %v", url, err)
		}
		return w
	}
	if w := why(roots[0]); w.State != stateGone || !strings.Contains(w.Reason, "needed: snapshot") {
		t.Errorf("the lost root: %+v", w)
	}
	if w := why(roots[1]); w.State != stateLive {
		t.Errorf("the other root: %+v", w)
	}
	kept := 0
	for info, err := range tbl.cat.client.List(ctx, tbl.VaultFolder()+"data/") {
		if err != nil {
			t.Fatal(err)
		}
		if w := why(info.URL); w.State == stateKept && strings.Contains(w.Reason, roots[0]) {
			kept++
		} else if w.State != stateLive {
			t.Errorf("%+v", w)
		}
	}
	if kept == 0 {
		t.Error("no object of the lost root was seen")
	}
	if _, err := tbl.Collect(ctx, CollectOptions{}); err == nil || errors.Is(err, ErrUnsafe) {
		t.Errorf("a collection beside a lost root: %v", err)
	}
}
