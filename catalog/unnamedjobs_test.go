package catalog

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/jobrecord"
	"github.com/shardcat/shardcat/manifest"
)

// jobObjects are the names of the records of jobs that lie in the vault folder.
func jobObjects(t *testing.T, tbl *Table) (out []string) {
	t.Helper()
	folder := tbl.VaultFolder() + "_jobs/"
	for info, err := range tbl.cat.client.List(context.Background(), folder) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.TrimPrefix(info.URL, folder))
	}
	return out
}

// TestUnnamedJobsLeaveNoRecords: jobs whose id nobody can deliver again leave nothing behind, whatever they change; those with a
// given id stay remembered, and so does one that failed.
func TestUnnamedJobsLeaveNoRecords(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	tbl := g.create(g.open(nil, nil))
	ingest(t, tbl, IngestOptions{}, rows(0, 20))
	rebuildAll(t, tbl)
	if _, err := tbl.Delete(ctx, where(t, "id = 3"), DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := tbl.Truncate(ctx, DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if left := jobObjects(t, tbl); len(left) > 0 {
		t.Errorf("records of unnamed jobs: %v", left)
	}
	ingest(t, tbl, IngestOptions{JobID: "mine"}, rows(0, 5))
	if left := jobObjects(t, tbl); strings.Join(left, " ") != "mine.closed.json mine.json" {
		t.Errorf("records of a named job: %v", left)
	}
	if again := ingest(t, tbl, IngestOptions{JobID: "mine"}, rows(0, 5)); !again.Before {
		t.Error("a named job was committed twice")
	}
	j, _, err := tbl.BeginJob(ctx, JobAppend, "", nil, tbl.Outputs)
	if err != nil {
		t.Fatal(err)
	}
	j.Fail(ctx, nil)
	if left := jobObjects(t, tbl); len(left) != 4 {
		t.Errorf("a failed job is not recorded as such: %v", left)
	}
}

// TestResumeCommittedUnnamedJob: a compaction that left no record is found by its snapshot.
func TestResumeCommittedUnnamedJob(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	tbl := g.create(g.open(nil, nil))
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	old := g.load(g.open(nil, nil))
	j := rebuildAll(t, tbl)
	if _, done, err := old.ResumeJob(ctx, j.Name()); err != nil || done == nil || done.SnapshotID != tbl.Head() || !done.Before {
		t.Errorf("%+v, %v; the commit is snapshot %d", done, err, tbl.Head())
	}
	if _, done, err := old.ResumeJob(ctx, "compact-of-nobody"); !errors.Is(err, ErrNotFound) || done != nil {
		t.Errorf("%+v, %v", done, err)
	}
	if err := old.DiscardJob(ctx, j.Name()); !errors.Is(err, ErrNotFound) || counted(t, old) != 10 {
		t.Errorf("%v, %d rows", err, counted(t, old))
	}
}

// TestClaimOutlivesTheRecord: a process that was stopped while another one took up its compaction and committed it must not delete the
// shards when it wakes, though no record reports that the job was. The claim is forgotten like any other record.
func TestClaimOutlivesTheRecord(t *testing.T) {
	ctx, g := context.Background(), newTimed(t)
	tbl := g.create(g.catalog(nil))
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	var shards []*manifest.Entry
	for e, err := range tbl.Entries(ctx, At{}) {
		if err != nil {
			t.Fatal(err)
		}
		shards = append(shards, e)
	}
	stopped, _, err := tbl.BeginJob(ctx, JobCompact, "", []string{shards[0].Path}, tbl.Outputs)
	if err != nil {
		t.Fatal(err)
	}
	written, err := stopped.Rewrite(ctx, shards, RewriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	other := g.load(g.catalog(nil))
	taken, _, err := other.ResumeJob(ctx, stopped.Name())
	if err != nil {
		t.Fatal(err)
	}
	entries, err := taken.Written(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := taken.Replace(ctx, taken.Inputs(), entries); err != nil {
		t.Fatal(err)
	}
	if left := jobObjects(t, other); strings.Join(left, " ") != stopped.Name()+jobrecord.ClaimSuffix {
		t.Errorf("records: %v, want the claim alone", left)
	}
	stopped.Fail(ctx, written.Objects)
	for _, object := range written.Objects {
		if _, err := tbl.cat.client.Stat(ctx, object); err != nil {
			t.Errorf("%s: %v", object, err)
		}
	}
	if n := counted(t, g.load(g.catalog(nil))); n != 10 {
		t.Errorf("%d rows", n)
	}
	g.clock.Advance(defaultJobMemory - day)
	if c := collect(t, other, CollectOptions{Execute: true}); c.ForgottenJobs != 0 {
		t.Errorf("%d jobs forgotten within the memory", c.ForgottenJobs)
	}
	g.clock.Advance(2 * day)
	collect(t, other, CollectOptions{Execute: true})
	if left := jobObjects(t, other); len(left) != 0 {
		t.Errorf("records that stay for ever: %v", left)
	}
}

// TestJobThatEndsWhileJobsAreListed: a record that was listed and is gone when it is read is no error, one that can't be read is.
func TestJobThatEndsWhileJobsAreListed(t *testing.T) {
	for script, want := range map[string]error{
		"get~_jobs/ 1: fail notfound": nil,
		"get~_jobs/ 1: fail denied":   blobio.ErrDenied,
	} {
		g := newDamagedGround(t, "")
		tbl := g.create(g.open(g.bucket))
		j, _, err := tbl.BeginJob(context.Background(), JobAppend, "", nil, tbl.Outputs)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.awaitRecord(); err != nil { // whose read would count among those of the script
			t.Fatal(err)
		}
		g.bucket.Play(t, script)
		if jobs, err := tbl.Jobs(context.Background(), false); !errors.Is(err, want) || len(jobs) != 0 {
			t.Errorf("%s: %d jobs, %v", script, len(jobs), err)
		}
	}
}
