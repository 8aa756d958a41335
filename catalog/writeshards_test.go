package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/internal/testkit/crashtest"
)

// writeShards runs one part of the job "load".
func writeShards(t *testing.T, tbl *Table, part string, batch string) *WrittenShards {
	t.Helper()
	w, err := tbl.WriteShards(context.Background(), source(batch), part, IngestOptions{JobID: "load", ShardRows: 10})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestShardsOfManyRunsAreCommittedOnce(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl := g.create(c)
	ingest(t, tbl, IngestOptions{}, rows(0, 5))
	var runs []string
	for i := range 3 {
		w := writeShards(t, g.load(c), fmt.Sprint(i), rows(5+20*i, 20))
		if w.Rows != 20 || w.Shards != 2 || w.Bytes <= 0 {
			t.Errorf("%+v", w)
		}
		runs = append(runs, w.Run)
	}
	// A part that was tried twice, one that failed, and one without rows.
	twice := writeShards(t, g.load(c), "1", rows(25, 20))
	failed := &rowSource{schema: people(), left: []string{rows(5, 20)}, fail: io.ErrUnexpectedEOF}
	if _, err := g.load(c).WriteShards(ctx, failed, "2", IngestOptions{JobID: "load"}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	none, err := g.load(c).WriteShards(ctx, source(), "3", IngestOptions{JobID: "load"})
	if err != nil || none.Shards != 0 {
		t.Fatal(none, err)
	}
	if got := counted(t, g.load(c)); got != 5 {
		t.Fatalf("%d rows before the commit", got)
	}
	if _, err := tbl.CommitShards(ctx, "", "load", append(runs, twice.Run)); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "part 1") {
		t.Errorf("two runs of a part: %v", err)
	}
	in, err := tbl.CommitShards(ctx, "", "load", append(runs, none.Run))
	if err != nil || in.Rows != 60 || len(in.Shards) != 6 || in.Before {
		t.Fatal(in, err)
	}
	ids, _ := scanIDs(t, tbl, ScanOptions{})
	slices.Sort(ids)
	if !slices.Equal(ids, between(0, 65)) {
		t.Errorf("ids %v", ids)
	}
	if objects := objectsOf(t, tbl); slices.ContainsFunc(objects, func(o string) bool { return strings.Contains(o, twice.Run[len("load."):]) }) {
		t.Errorf("what the second try wrote is left: %v", objects)
	}
	if open, err := tbl.Jobs(ctx, false); err != nil || len(open) != 0 {
		t.Errorf("open jobs %v, %v", open, err)
	}
	// Once more, by the driver and by a task that comes late.
	again, err := g.load(c).CommitShards(ctx, "", "load", runs)
	if err != nil || !again.Before || again.SnapshotID != in.SnapshotID || again.Rows != 0 {
		t.Errorf("committed again: %+v, %v", again, err)
	}
	late, err := g.load(c).WriteShards(ctx, source(rows(5, 20)), "0", IngestOptions{JobID: "load"})
	if err != nil || late.Run != "" || late.Committed.SnapshotID != in.SnapshotID {
		t.Errorf("a late task: %+v, %v", late, err)
	}
	if n, err := tbl.DiscardShards(ctx, "load"); err != nil || n != 0 || counted(t, g.load(c)) != 65 {
		t.Errorf("%d runs discarded, %v", n, err)
	}
}

func TestDiscardedShards(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl := g.create(c)
	a, b := writeShards(t, g.load(c), "0", rows(0, 20)), writeShards(t, g.load(c), "1", rows(20, 20))
	if len(objectsOf(t, tbl)) == 0 {
		t.Error("nothing was written")
	}
	if n, err := tbl.DiscardShards(ctx, "load"); err != nil || n != 2 {
		t.Errorf("%d runs discarded, %v", n, err)
	}
	if left := objectsOf(t, tbl); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := tbl.CommitShards(ctx, "", "load", []string{a.Run, b.Run}); !errors.Is(err, ErrConflict) && !errors.Is(err, ErrNotFound) {
		t.Errorf("committed what was discarded: %v", err)
	}
	// The job can still be done.
	in, err := tbl.CommitShards(ctx, "", "load", []string{writeShards(t, g.load(c), "0", rows(0, 20)).Run})
	if err != nil || in.Rows != 20 {
		t.Error(in, err)
	}
}

// A run that is ended while it writes deletes what it wrote.
func TestDiscardedWhileWriting(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	tbl := g.create(g.open(nil, nil))
	src := &discarding{source(rows(0, 20), rows(20, 20)), func() {
		if n, err := g.load(g.open(nil, nil)).DiscardShards(ctx, "load"); err != nil || n != 1 {
			t.Error(n, err)
		}
	}}
	if _, err := tbl.WriteShards(ctx, src, "0", IngestOptions{JobID: "load", ShardRows: 10}); !errors.Is(err, ErrConflict) {
		t.Error(err)
	}
	if left := objectsOf(t, tbl); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// discarding does something before its last batch.
type discarding struct {
	*rowSource
	before func()
}

func (d *discarding) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if len(d.left) == 1 {
		d.before()
	}
	return d.rowSource.Next(ctx)
}

func TestRefusedRuns(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl := g.create(c)
	run := writeShards(t, g.load(c), "0", rows(0, 10)).Run
	for _, x := range []struct {
		job, branch string
		runs        []string
		want        error
	}{
		{"", "", []string{run}, ErrInvalid},
		{"other", "", []string{run}, ErrInvalid},
		{"load", "", []string{run, run}, ErrInvalid},
		{"load", "", []string{"load.nobody"}, ErrNotFound},
		{"load", "", []string{"load/../../x"}, ErrInvalid},
		{"load", "nobody", []string{run}, ErrNotFound},
	} {
		if _, err := tbl.CommitShards(ctx, x.branch, x.job, x.runs); !errors.Is(err, x.want) {
			t.Errorf("%+v: %v", x, err)
		}
	}
	for _, o := range []IngestOptions{{}, {JobID: "a/b"}} {
		if _, err := tbl.WriteShards(ctx, source(rows(0, 1)), "", o); !errors.Is(err, ErrInvalid) {
			t.Errorf("job %q: %v", o.JobID, err)
		}
	}
	if _, err := tbl.WriteShards(ctx, source(rows(0, 1)), "a b", IngestOptions{JobID: "load"}); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	if got := counted(t, tbl); got != 0 {
		t.Errorf("%d rows", got)
	}
}

// What is committed later is what an ingestion commits at once: partitions above all, which bounds do not always tell.
func TestPartitionsOfWrittenShards(t *testing.T) {
	ctx := context.Background()
	for _, partition := range [][]string{{"day(ts)"}, {"hour(ts)", "bucket(4, id)"}, {"month(ts)", "small"}, {"year(ts)"}, {"truncate(7, id)"}, {"ts"}} {
		t.Run(strings.Join(partition, " "), func(t *testing.T) {
			g := newGround(t)
			c := g.open(nil, nil)
			for i, name := range []Name{{"default", "at_once"}, {"default", "later"}} {
				tbl, err := c.Create(ctx, name, CreateOptions{Schema: people(), Partition: partition, CreateNamespace: true})
				if err != nil {
					t.Fatal(err)
				}
				batch := `[{"id":null,"ts":null,"small":null,"tags":null},` + rows(0, 12)[1:]
				if i == 0 {
					ingest(t, tbl, IngestOptions{ShardRows: 10}, batch)
					continue
				}
				if _, err := tbl.CommitShards(ctx, "", "load", []string{writeShards(t, tbl, "", batch).Run}); err != nil {
					t.Fatal(err)
				}
				at, err := c.Load(ctx, Name{"default", "at_once"})
				if err != nil {
					t.Fatal(err)
				}
				if got, want := partitionsOf(t, tbl), partitionsOf(t, at); !slices.Equal(got, want) || len(want) < 2 {
					t.Errorf("partitions\n%q, want\n%q", got, want)
				}
			}
		})
	}
}

func partitionsOf(t *testing.T, tbl *Table) (out []string) {
	t.Helper()
	for e, err := range tbl.Entries(context.Background(), At{}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%#v %d", e.Partition, e.Records))
	}
	slices.Sort(out)
	return out
}

// TestWrittenShardsSurviveKills kills the driver, and a task, at every step: the rows are there once or not at all, and doing the job again
// brings them.
func TestWrittenShardsSurviveKills(t *testing.T) {
	ctx := context.Background()
	job := func(tbl *Table) error {
		w, err := tbl.WriteShards(ctx, source(rows(5, 20)), "0", IngestOptions{JobID: "load", ShardRows: 10})
		if err != nil || w.Run == "" {
			return err
		}
		_, err = tbl.CommitShards(ctx, "", "load", []string{w.Run})
		return err
	}
	kills, err := crashtest.Walk(func(n int, killer *crashtest.Killer) error {
		g := newGround(t)
		ingest(t, g.create(g.open(nil, nil)), IngestOptions{}, rows(0, 5))
		runErr := job(g.load(g.open(killer, nil)))
		tbl := g.load(g.open(nil, nil))
		got, _ := scanIDs(t, tbl, ScanOptions{Ordered: true})
		if !slices.Equal(got, between(0, 25)) && (runErr == nil || !slices.Equal(got, between(0, 5))) {
			return fmt.Errorf("neither before nor after: %d rows (run: %v)", len(got), runErr)
		}
		if err := job(tbl); err != nil {
			return fmt.Errorf("done again: %w", err)
		}
		if got, _ := scanIDs(t, tbl, ScanOptions{Ordered: true}); !slices.Equal(got, between(0, 25)) {
			return fmt.Errorf("done again: %d rows", len(got))
		}
		return nil
	})
	if err != nil || kills < 20 {
		t.Errorf("%d kills: %v", kills, err)
	}
}

// Shards that wait for their commit are live as long as a job may take; what a collection has given up is refused.
func TestCollectionAndWrittenShards(t *testing.T) {
	g, ctx := newTimed(t), context.Background()
	tbl := g.create(g.catalog(nil))
	w := writeShards(t, tbl, "0", rows(0, 20))
	wrote := len(objectsOf(t, tbl))
	g.clock.Advance(time.Hour)
	if done := collect(t, tbl, CollectOptions{Execute: true}); done.Deleted != 0 || len(objectsOf(t, tbl)) != wrote {
		t.Errorf("deleted while the job is open: %+v", done)
	}
	for range 4 {
		g.clock.Advance(10 * day)
		collect(t, tbl, CollectOptions{Execute: true})
	}
	if left := objectsOf(t, tbl); len(left) != 0 {
		t.Errorf("not given up: %v", left)
	}
	if _, err := tbl.CommitShards(ctx, "", "load", []string{w.Run}); !errors.Is(err, ErrNotFound) {
		t.Errorf("committed what was given up: %v", err)
	}
	if got := counted(t, tbl); got != 0 {
		t.Errorf("%d rows", got)
	}
}

// A commit that fails leaves what it claimed to a later one, whatever is discarded in between.
func TestClaimedShardsAreNotDiscarded(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl := g.create(c)
	run := writeShards(t, tbl, "0", rows(0, 20)).Run
	r, err := tbl.writtenRun(ctx, "load", run)
	if err == nil {
		err = r.take(ctx, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	before := len(objectsOf(t, tbl))
	if _, err := tbl.DiscardShards(ctx, "load"); err != nil || len(objectsOf(t, tbl)) != before {
		t.Errorf("%d of %d objects are left, %v", len(objectsOf(t, tbl)), before, err)
	}
	if _, err := tbl.CommitShards(ctx, "", "load", []string{run}); !errors.Is(err, ErrNotFound) {
		t.Errorf("a run that has ended: %v", err)
	}
	// Claims of one purpose are equal: what one driver began another ends.
	run = writeShards(t, tbl, "0", rows(0, 20)).Run
	if r, err = tbl.writtenRun(ctx, "load", run); err == nil {
		err = r.take(ctx, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	if in, err := g.load(c).CommitShards(ctx, "", "load", []string{run}); err != nil || in.Rows != 20 {
		t.Error(in, err)
	}
}
