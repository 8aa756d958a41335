package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/manifest"
)

// TestDeliveredAfterExpiry: a job is committed once also where its snapshot has expired, by the record of its end; a delivery that can't read the records is
// refused, whichever request fails.
func TestDeliveredAfterExpiry(t *testing.T) {
	ctx, g := context.Background(), newDamagedGround(t, "")
	tbl := g.create(g.open(g.bucket))
	first := ingest(t, tbl, IngestOptions{JobID: "load"}, rows(0, 10))
	ingest(t, tbl, IngestOptions{}, rows(10, 10))
	expireNow(t, tbl)
	if tbl = g.load(g.open(g.bucket)); tbl.findJob("", "load") != nil {
		t.Fatal("the snapshot of the job is there")
	}
	for n := 1; ; n++ {
		tbl := g.load(g.open(g.bucket))
		g.bucket.Play(t, fmt.Sprintf("any %d: fail denied", n))
		j, before, err := tbl.BeginJob(ctx, JobAppend, "load", nil, tbl.Outputs)
		requests := g.bucket.Requests("any")
		g.bucket.Play(t, "")
		if j != nil {
			t.Fatalf("request %d was denied: the job begins again", n)
		}
		if requests < n {
			if err != nil || !before.Before || before.SnapshotID != first.SnapshotID || n < 4 {
				t.Errorf("%+v, %v, %d requests", before, err, n-1)
			}
			break
		}
		if before == nil && !errors.Is(err, blobio.ErrDenied) {
			t.Errorf("request %d was denied: %+v, %v", n, before, err)
		}
	}
	if again := ingest(t, g.load(g.open(g.bucket)), IngestOptions{JobID: "load"}, rows(0, 10)); !again.Before {
		t.Errorf("%+v", again.CommitResult)
	}
	if n := counted(t, g.load(g.open(g.bucket))); n != 20 {
		t.Errorf("%d rows", n)
	}
}

// TestGroupBesideAnotherDelivery: an append whose job another process commits while it waits has the outcome of that commit, and its shards are not in the snapshot
// of the others.
func TestGroupBesideAnotherDelivery(t *testing.T) {
	g := newGroupGround(t, 4)
	other := g.load(g.open(nil, nil))
	g.before = func() { ingest(t, other, IngestOptions{JobID: "job-1"}, rows(10, 10)) }
	appends := several(5)
	g.do(appends...)
	for i, a := range appends {
		if a.err != nil || a.out.Before != (i == 1) {
			t.Fatalf("append %d: %+v, %v", i, a.out, a.err)
		}
	}
	if appends[1].out.SnapshotID == appends[2].out.SnapshotID {
		t.Error("the job is in the snapshot of the others")
	}
	g.check(between(0, 50), 3, appends...)
}

// TestRecoveredUnderAnotherName: the name that a recovered table has is what a later recovery of all tables gives it.
func TestRecoveredUnderAnotherName(t *testing.T) {
	ctx, g := context.Background(), newGround(t)
	c := g.open(nil, nil)
	tbl := g.create(c)
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	at := tbl.MetadataLocation()
	if err := c.Drop(ctx, tableName); err != nil {
		t.Fatal(err)
	}
	other := Name{"default", "others"}
	recovered, err := c.Recover(ctx, at, RecoverOptions{As: other})
	if err != nil {
		t.Fatal(err)
	}
	owner, err := c.lastName(ctx, recovered.UUID(), &lostTable{owner: Owner{Table: tableName.String()}})
	if err != nil || owner != other {
		t.Errorf("its last name is %s, %v", owner, err)
	}
}

// TestDiscardThatFails: a run of which an object can't be deleted stays open, and the next discard ends it.
func TestDiscardThatFails(t *testing.T) {
	ctx, g := context.Background(), newDamagedGround(t, "")
	tbl := g.create(g.open(g.bucket))
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	before := objectsOf(t, tbl)
	j, _, err := beginRebuild(ctx, tbl)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; ; n++ {
		other := g.load(g.open(g.bucket))
		g.bucket.Play(t, fmt.Sprintf("any %d: fail denied", n))
		err := other.DiscardJob(ctx, j.Name())
		g.bucket.Play(t, "")
		if err == nil {
			break
		}
		if open, listErr := tbl.Jobs(ctx, false); listErr != nil || len(open) != 1 || !errors.Is(err, blobio.ErrDenied) {
			t.Fatalf("request %d was denied: %d jobs are open, %v, %v", n, len(open), listErr, err)
		}
		if n > 100 {
			t.Fatal("no end")
		}
	}
	if left := objectsOf(t, tbl); !slices.Equal(left, before) {
		t.Errorf("%q are left of %q", left, before)
	}
	if err := tbl.DiscardJob(ctx, j.Name()); !errors.Is(err, ErrNotFound) {
		t.Errorf("discarded twice: %v", err)
	}
}

// TestDeliveredAgainBehindAWrongAnswer: rows whose job was committed, in a snapshot that has expired, do not come twice.
func TestDeliveredAgainBehindAWrongAnswer(t *testing.T) {
	ctx := context.Background()
	again := map[string]func(tbl *Table) error{
		"ingest": func(tbl *Table) error {
			_, err := tbl.Ingest(ctx, source(rows(0, 10)), IngestOptions{JobID: "mine"})
			return err
		},
		"ingest of files": func(tbl *Table) error {
			_, err := tbl.IngestFiles(ctx, []InputFile{{URL: "a", Size: 1}}, FilesOptions{Ingest: IngestOptions{JobID: "mine"},
				Open: func(context.Context, []InputFile) (FileSource, error) { return closing{source(rows(0, 10))}, nil }})
			return err
		},
	}
	for name, deliver := range again {
		t.Run(name, func(t *testing.T) {
			for _, kind := range []string{"get", "stat", "list"} {
				for n := 1; ; n++ {
					g := newTimed(t)
					c, bucket := g.faulty()
					tbl := g.create(c)
					ingest(t, tbl, IngestOptions{JobID: "mine"}, rows(0, 10))
					g.clock.Advance(time.Minute)
					ingest(t, tbl, IngestOptions{}, rows(10, 10))
					g.clock.Advance(time.Minute)
					expireAll(t, tbl, g.clock.Now())
					tbl = g.load(c)
					bucket.Play(t, fmt.Sprintf("%s %d: hide", kind, n))
					err := deliver(tbl)
					requests := bucket.Requests(kind)
					bucket.Play(t, "")
					if ids, _ := scanIDs(t, g.load(c), ScanOptions{Ordered: true}); !slices.Equal(ids, between(0, 20)) {
						t.Errorf("%s %d (%v): rows %v", kind, n, err, ids)
					}
					if requests < n {
						break
					}
				}
			}
		})
	}
}

// closing is a FileSource.
type closing struct{ RecordSource }

func (closing) Close() error { return nil }

// TestDiscardOfACommittedJob: what a compaction wrote is not deleted once it is committed, though its snapshot has expired and the store denies the record of
// its end.
func TestDiscardOfACommittedJob(t *testing.T) {
	ctx := context.Background()
	hiddenReads(func(script, kind string) int {
		g := newTimed(t)
		c, bucket := g.faulty()
		tbl := g.create(c)
		ingest(t, tbl, IngestOptions{}, rows(0, 10))
		g.clock.Advance(time.Minute)
		inputs := []string{firstEntry(t, tbl).Path}
		j, _, err := tbl.BeginJob(ctx, JobCompact, "mine", inputs, tbl.Outputs)
		if err != nil {
			t.Fatal(err)
		}
		written, err := j.Rewrite(ctx, []*manifest.Entry{firstEntry(t, tbl)}, RewriteOptions{})
		if err == nil {
			_, err = j.Replace(ctx, inputs, written.Entries)
		}
		if err != nil {
			t.Fatal(err)
		}
		g.clock.Advance(time.Minute)
		ingest(t, tbl, IngestOptions{}, rows(10, 10))
		g.clock.Advance(time.Minute)
		expireAll(t, tbl, g.clock.Now())
		tbl = g.load(c)
		bucket.Play(t, script)
		err = tbl.DiscardJob(ctx, "mine")
		requests := bucket.Requests(kind)
		bucket.Play(t, "")
		if err == nil {
			t.Errorf("%s: discarded", script)
		}
		if ids, _ := scanIDs(t, g.load(c), ScanOptions{Ordered: true}); !slices.Equal(ids, between(0, 20)) {
			t.Errorf("%s (%v): rows %v", script, err, ids)
		}
		return requests
	})
}
