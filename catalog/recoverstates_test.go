package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog/internal/jobrecord"
	"github.com/shardcat/shardcat/catalog/internal/records"
	"github.com/shardcat/shardcat/manifest"
)

// metadataOfNow is a metadata file of the table's present state.
func metadataOfNow(t *Table, at string, number int) metadataState {
	return metadataState{at: at, number: number, meta: t.ice.Metadata()}
}

// endAs leaves the record of a job that ended, without the records that the job has.
func endAs(t *testing.T, tbl *Table, job, outcome string, snapshot int64) {
	t.Helper()
	ctx, prefix := context.Background(), tbl.VaultFolder()+"_jobs/"+job+"."
	for _, name := range objectsBelow(t, tbl.cat, prefix) {
		if err := tbl.cat.client.Delete(ctx, prefix+name, ""); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(JobEnd{Version: records.Version, ID: job, Outcome: outcome, Snapshot: snapshot})
	if err == nil {
		err = tbl.cat.client.Put(ctx, tbl.VaultFolder()+"_jobs/"+job+jobrecord.ClosedSuffix, text)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestLastStateWithoutACommit: without a metadata file, and with one whose commit is recorded as failed alone, a table has no state.
func TestLastStateWithoutACommit(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	c := g.open(nil, nil)
	tbl := g.create(c)
	if _, err := c.lastState(ctx, tbl.UUID(), nil); !errors.Is(err, ErrNotFound) {
		t.Errorf("without files: %v", err)
	}
	ingest(t, tbl, IngestOptions{JobID: "one"}, rows(0, 10))
	one := metadataOfNow(tbl, "one", 1)
	ingest(t, tbl, IngestOptions{JobID: "two"}, rows(10, 10))
	two := metadataOfNow(tbl, "two", 2)
	endAs(t, tbl, "two", jobrecord.Failed, 0)
	if last, err := c.lastState(ctx, tbl.UUID(), []metadataState{one, two}); err != nil || last.at != "one" {
		t.Errorf("with a commit that failed last: %s, %v", last.at, err)
	}
	endAs(t, tbl, "one", jobrecord.Failed, 0)
	if last, err := c.lastState(ctx, tbl.UUID(), []metadataState{one, two}); !errors.Is(err, ErrNotFound) {
		t.Errorf("with failed commits alone: %s, %v", last.at, err)
	}
}

// TestLastStateOfOneNumber: of two files of one number the one with a proven commit counts, unless the other file has its snapshot too.
func TestLastStateOfOneNumber(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	c := g.open(nil, nil)
	tbl := g.create(c)
	ingest(t, tbl, IngestOptions{JobID: "one"}, rows(0, 10))
	one := metadataOfNow(tbl, "one", 5)
	ingest(t, tbl, IngestOptions{JobID: "two"}, rows(10, 10))
	two := metadataOfNow(tbl, "two", 5)
	for _, files := range [][]metadataState{{one, two}, {two, one}} {
		if last, err := c.lastState(ctx, tbl.UUID(), files); err != nil || last.at != "two" {
			t.Errorf("%s, %v", last.at, err)
		}
	}
}

// TestCommitOfSharedSnapshot: the commit of a snapshot of several jobs is proven by any of them, and failed if it failed for all.
func TestCommitOfSharedSnapshot(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	c := g.open(nil, nil)
	tbl := g.create(c)
	ingest(t, tbl, IngestOptions{JobID: "one"}, rows(0, 10))
	snapshot := tbl.ice.Metadata().CurrentSnapshot()
	properties := snapshot.Summary.Properties
	shared := maps.Clone(properties)
	shared["shardcat.more-job-ids"] = "two"
	if jobs := slices.Collect(manifest.JobsOf(shared)); len(jobs) != 2 {
		t.Fatal(jobs)
	}
	meta := &sharedState{tbl.ice.Metadata(), *snapshot}
	meta.snapshot.Summary = &table.Summary{Operation: snapshot.Summary.Operation, Properties: shared}
	for _, x := range []struct {
		one, two string
		want     int
	}{{jobrecord.Failed, jobrecord.Committed, provenCommit}, {jobrecord.Committed, jobrecord.Failed, provenCommit}, {jobrecord.Failed, jobrecord.Failed, failedCommit}} {
		endAs(t, tbl, "one", x.one, snapshot.SnapshotID)
		endAs(t, tbl, "two", x.two, snapshot.SnapshotID)
		if got, err := c.commitOf(ctx, tbl.UUID(), meta); err != nil || got != x.want {
			t.Errorf("%s and %s: %d, %v, want %d", x.one, x.two, got, err, x.want)
		}
	}
}

// sharedState is metadata with another current snapshot.
type sharedState struct {
	table.Metadata
	snapshot table.Snapshot
}

func (s *sharedState) CurrentSnapshot() *table.Snapshot { return &s.snapshot }
