package compaction

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/testkit/fakeclock"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// stoppedEnv makes the test binary the compactor that is stopped; its value is the folder and where it stops.
const stoppedEnv = "SHARDCAT_TEST_STOPPED"

// overtaken is a file that is there once the other process is done.
const overtaken = "overtaken"

func stoppedOptions(dir string) catalog.Options {
	return catalog.Options{
		URI: "sqlite:" + filepath.Join(dir, "catalog.db"), Warehouse: filepath.Join(dir, "wh"),
		Client: blobio.NewClient(blobio.ClientOptions{}), Metadata: blobio.NewClient(blobio.ClientOptions{}),
	}
}

// TestStoppedCompactor: a compactor that is stopped by SIGSTOP before its commit, and wakes after another process has taken its lease,
// compacted the table and changed rows, changes nothing, whether it is stopped before or after it requests its lease.
func TestStoppedCompactor(t *testing.T) {
	if text := os.Getenv(stoppedEnv); text != "" {
		dir, when, _ := strings.Cut(text, "|")
		stoppedCompactor(t, dir, when)
		return
	}
	for when, want := range map[string]string{"before": "lease was taken over", "after": "conflict"} {
		t.Run(when, func(t *testing.T) {
			dir := t.TempDir()
			c, err := catalog.Open(ctx, stoppedOptions(dir))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			tbl, err := c.Create(ctx, name, catalog.CreateOptions{Schema: fields(), CreateNamespace: true})
			if err != nil {
				t.Fatal(err)
			}
			fill(t, tbl, 4)
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestStoppedCompactor$", "-test.v")
			child.Env = append(os.Environ(), stoppedEnv+"="+dir+"|"+when)
			var said strings.Builder
			child.Stdout, child.Stderr = &said, &said
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			var status syscall.WaitStatus
			if _, err := syscall.Wait4(child.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
				t.Fatalf("the compactor did not stop: %v, %v\n%s", status, err, said.String())
			}
			want := append([]string{want}, overtake(t, dir)...)
			if err := os.WriteFile(filepath.Join(dir, overtaken), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := child.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			if err := child.Wait(); err != nil || !strings.Contains(said.String(), "the compactor ended: ") || !strings.Contains(said.String(), want[0]) {
				t.Fatalf("want %q: %v\n%s", want[0], err, said.String())
			}
			after, err := c.Load(ctx, name)
			if err != nil {
				t.Fatal(err)
			}
			if got := contents(t, after); !slices.Equal(got, want[1:]) {
				t.Errorf("%d rows, %d by the ledger", len(got), len(want)-1)
			}
		})
	}
}

// leased opens the table, whose lease it takes.
func leased(t *testing.T, o catalog.Options) (*catalog.Table, *catalog.CompactLease) {
	t.Helper()
	c, err := catalog.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	tbl, err := c.Load(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	lease, err := tbl.LeaseForCompaction(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return tbl, lease
}

// overtake is the other process: it takes the lease an hour later, compacts, and takes rows away and adds some. It gives the ledger.
func overtake(t *testing.T, dir string) []string {
	t.Helper()
	o := stoppedOptions(dir)
	o.Now = fakeclock.New(time.Now().Add(time.Hour)).Now
	tbl, lease := leased(t, o)
	defer lease.Release(ctx)
	if report, err := Compact(ctx, tbl, Policy{}, Options{Fence: lease.Check}); err != nil || report.ShardsAfter != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	where, err := filter.Parse("id < 15")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tbl.Delete(ctx, where, catalog.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := tbl.Ingest(ctx, rows(100, 7), catalog.IngestOptions{}); err != nil {
		t.Fatal(err)
	}
	ledger := contents(t, tbl)
	if len(ledger) != 32 {
		t.Fatalf("%d rows", len(ledger))
	}
	return ledger
}

// stoppedCompactor compacts, and stops itself at a given step.
func stoppedCompactor(t *testing.T, dir, when string) {
	tbl, lease := leased(t, stoppedOptions(dir))
	stopped := false
	stop := func() error {
		if stopped {
			return nil
		}
		stopped = true
		if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
			return err
		}
		for { // the signal may reach this thread a little later
			if _, err := os.Stat(filepath.Join(dir, overtaken)); err == nil {
				return nil
			}
			time.Sleep(time.Millisecond)
		}
	}
	fence := func(ctx context.Context) error {
		if when == "before" {
			if err := stop(); err != nil {
				return err
			}
		}
		if err := lease.Check(ctx); err != nil {
			return err
		}
		return stop()
	}
	plan, err := NewPlan(ctx, tbl, Policy{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Execute(ctx, tbl, &plan.Groups[0], Policy{}, Options{Fence: fence})
	fmt.Println("the compactor ended:", err)
	lease.Release(ctx)
}
