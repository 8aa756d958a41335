package catalog

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/shardcat/shardcat/catalog/internal/jobrecord"
)

// TestDeleteInALaterBatch: a delete marks rows in all batches of a stripe.
func TestDeleteInALaterBatch(t *testing.T) {
	const n = 100_000
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	ingest(t, tbl, IngestOptions{ShardRows: n, StripeRows: n}, rows(0, n))
	remove(t, tbl, "id = 7 OR id = 99000")
	if ids, _ := scanIDs(t, tbl, ScanOptions{}); len(ids) != n-2 || slices.Contains(ids, 7) || slices.Contains(ids, 99_000) {
		t.Errorf("%d rows", len(ids))
	}
}

// TestOutputsOfAJob: an output that is no prefix is that object alone.
func TestOutputsOfAJob(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	at := tbl.VaultFolder()
	for _, name := range []string{"one", "one-more", "two-1", "two-2"} {
		if err := tbl.cat.client.Put(ctx, at+name, []byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	for output, want := range map[string][]string{at + "one": {at + "one"}, at + "two-*": {at + "two-1", at + "two-2"}} {
		j := &Job{table: tbl, record: JobRecord{Outputs: []string{output}}}
		objects, err := j.written(ctx)
		var got []string
		for _, info := range objects {
			got = append(got, info.URL)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", output, got, err, want)
		}
	}
}

// TestResumeOfAClosedJob: the record of a run that was committed, or found its job committed, has the result; a snapshot of the job need not be retained.
func TestResumeOfAClosedJob(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	for outcome, want := range map[string]bool{jobrecord.Committed: true, jobrecord.Duplicate: true, jobrecord.Failed: false} {
		endAs(t, tbl, outcome, outcome, 17)
		_, done, err := tbl.ResumeJob(ctx, outcome)
		if want && (err != nil || done == nil || done.SnapshotID != 17 || !done.Before) || !want && (!errors.Is(err, ErrNotFound) || done != nil) {
			t.Errorf("%s: %+v, %v", outcome, done, err)
		}
	}
	if _, done, err := tbl.ResumeJob(ctx, "never-begun"); !errors.Is(err, ErrNotFound) || done != nil {
		t.Errorf("without a record: %+v, %v", done, err)
	}
}
