package temporal

import (
	"os"
	"testing"
	"time"
)

// Ten thousand shards and two workers, with the figures of docs/performance.md. It takes minutes: set SHARDCAT_FULL.
func TestTenThousandShards(t *testing.T) {
	if os.Getenv("SHARDCAT_FULL") == "" {
		t.Skip("it takes minutes: SHARDCAT_FULL is not set")
	}
	_, c := server(t)
	dir := tableOf(t, 10_000, map[string]string{"max-inputs": "100"})
	before := contents(t, load(t, dir))
	work(t, c, dir, WorkerOptions{})
	work(t, c, dir, WorkerOptions{})
	start := time.Now()
	report, err := Run(t.Context(), c, TableInput{Table: name.String(), Batch: 25, Heartbeat: 30})
	took := time.Since(start)
	if err != nil || report.Inputs != 10_000 || report.Groups != 100 || report.Shards != 100 || report.Runs != 4 {
		t.Fatalf("%+v, %v", report, err)
	}
	holds(t, dir, before, 100)
	events, largest := historyOf(t, c)
	t.Logf("%d groups of %d shards in %s, in %d runs of the workflow with %d events together; the largest payload has %d bytes",
		report.Groups, report.Inputs, took.Round(time.Second), report.Runs, events, largest)
}
