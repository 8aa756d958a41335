package temporal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// Rows are added, deleted and replaced while workflows compact the table: those that are there at the end are those of the ledger.
func TestWritersBesideTheWorkflow(t *testing.T) {
	_, c := server(t)
	dir := tableOf(t, 40, map[string]string{"max-inputs": "5"})
	work(t, c, dir, WorkerOptions{})
	work(t, c, dir, WorkerOptions{})
	writing, stop := context.WithCancel(t.Context())
	written := make(chan map[int]bool, 1)
	go func() {
		ledger := map[int]bool{}
		for i := range 400 {
			ledger[i] = true
		}
		defer func() { written <- ledger }()
		for n := 0; n < 12 && !t.Failed(); n++ {
			tbl := load(t, dir)
			first := 1000 + 10*n
			when := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
			if _, err := tbl.Ingest(ctx, &rows{first, 10}, catalog.IngestOptions{CreationTime: when}); err != nil {
				t.Errorf("append %d: %v", n, err)
				return
			}
			for i := range 10 {
				ledger[first+i] = true
			}
			where, err := filter.Parse(fmt.Sprintf("id = %d OR id = %d", 31*n, first+3))
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := tbl.Delete(ctx, where, catalog.DeleteOptions{}); err != nil {
				t.Errorf("deletion %d: %v", n, err)
				return
			}
			delete(ledger, 31*n)
			delete(ledger, first+3)
		}
		stop()
	}()
	runs, groups := 0, 0
	for writing.Err() == nil && !t.Failed() {
		report, err := Run(t.Context(), c, TableInput{Table: name.String()})
		if err != nil || report.Failed != 0 {
			t.Errorf("run %d: %+v, %v", runs, report, err)
			break
		}
		runs, groups = runs+1, groups+report.Groups
	}
	ledger := <-written
	report, err := Run(t.Context(), c, TableInput{Table: name.String()})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d groups in %d runs beside the writer, then %d", groups, runs, report.Groups)
	var want []string
	for id := range ledger {
		want = append(want, fmt.Sprintf("%d|n%d", id, id%7))
	}
	slices.Sort(want)
	holds(t, dir, want, report.Shards)
	if groups == 0 || report.Shards >= 50 {
		t.Errorf("%d groups were compacted beside the writer; %d shards are left", groups, report.Shards)
	}
}

// A workflow that is cancelled while it works leaves every row where it was. What was written and not yet read back is deleted; a job that was taken up
// stays open, for another process may be at it, and the next run ends it. Then nothing is left that no snapshot lists.
func TestCancelledWorkflow(t *testing.T) {
	_, c := server(t)
	dir := tableOf(t, 60, map[string]string{"max-inputs": "4"})
	before := contents(t, load(t, dir))
	work(t, c, dir, WorkerOptions{Slots: 1})
	in := TableInput{Table: name.String(), Parallel: 2, Heartbeat: 1}
	ended := make(chan error, 1)
	go func() {
		_, err := Run(t.Context(), c, in)
		ended <- err
	}()
	until(t, "a group is committed", func() bool { return load(t, dir).Describe().Shards < 60 })
	if err := c.CancelWorkflow(ctx, WorkflowID(name.String()), ""); err != nil {
		t.Fatal(err)
	}
	var cancelled *temporal.CanceledError
	if err := <-ended; !errors.As(err, &cancelled) {
		t.Fatalf("the cancelled workflow ended with %v", err)
	}
	tbl := load(t, dir)
	if shards := tbl.Describe().Shards; shards <= 15 {
		t.Fatalf("all was done before it was cancelled: %d shards", shards)
	}
	if got := contents(t, tbl); !slices.Equal(got, before) {
		t.Errorf("%d rows became %d", len(before), len(got))
	}
	open, err := tbl.Jobs(ctx, false)
	if left := unlisted(t, tbl); err != nil || len(open) > in.Parallel || len(left) > len(open) {
		t.Errorf("%d jobs are open, %v; left behind: %v", len(open), err, left)
	}
	report, err := Run(t.Context(), c, in)
	if err != nil || report.Resumed != len(open) || report.Shards > 15 {
		t.Errorf("%d jobs were open: %+v, %v", len(open), report, err)
	}
	holds(t, dir, before, report.Shards)
	if left := unlisted(t, load(t, dir)); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// unlisted are the roots in a table's vault that none of its snapshots lists.
func unlisted(t *testing.T, tbl *catalog.Table) (left []string) {
	t.Helper()
	known := map[string]bool{}
	for _, s := range tbl.History() {
		for e, err := range tbl.Entries(ctx, catalog.At{SnapshotID: s.ID}) {
			if err != nil {
				t.Fatal(err)
			}
			known[e.Path] = true
		}
	}
	for info, err := range tbl.Catalog().Client().List(ctx, tbl.VaultFolder()) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(info.URL, ".amudai.shard") && !known[info.URL] {
			left = append(left, info.URL)
		}
	}
	return left
}
