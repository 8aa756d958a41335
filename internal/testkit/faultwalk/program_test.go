package faultwalk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/shardcat/shardcat/internal/testkit/seed"
)

// built is the folder of the built program, empty if no test needed it.
var built string

// build builds the program once and gives its path.
var build = sync.OnceValues(func() (path string, err error) {
	if built, err = os.MkdirTemp("", "shardcat-faultwalk-"); err != nil {
		return "", err
	}
	path = filepath.Join(built, "shardcat")
	out, err := exec.Command("go", "build", "-o", path, "github.com/shardcat/shardcat/cmd/shardcat").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	debug.SetGCPercent(800) // worlds are small, and every step of a walk leaves all that it allocated
	debug.SetMemoryLimit(4 << 30)
	os.Unsetenv("AWS_CA_BUNDLE") // no server here has a certificate, and each client would parse all of the bundle
	code := m.Run()
	if built != "" {
		os.RemoveAll(built)
	}
	os.Exit(code)
}

// program is the built program on the tables of a world.
func (w *world) program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), "SHARDCAT_CATALOG=sqlite:"+filepath.Join(w.catalog, "catalog.db"),
		"SHARDCAT_WAREHOUSE="+w.store.root+"/wh")
	cmd.Dir = t.TempDir()
	return cmd
}

// rounds is how often a process is killed.
func rounds() int {
	if full || os.Getenv(servers["s3"]) != "" {
		return 20
	}
	return 6
}

// killed runs the program again and again, ends each run by SIGKILL at a random moment, and holds the rest to
// before or after, and what a whole run makes of it to after.
func killed(t *testing.T, w *world, after state, args ...string) {
	t.Helper()
	number, _ := seed.Of(t)
	random := rand.New(rand.NewPCG(number, 1))
	first := w.program(t, args...)
	begin := time.Now()
	if out, err := first.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	whole := time.Since(begin)
	kills, undone := 0, 0
	for range rounds() {
		w.reset(t)
		delay := time.Duration(random.Float64() * 1.1 * float64(whole))
		cmd := w.program(t, args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(delay)
		cmd.Process.Kill() // it may have ended
		if cmd.Wait() != nil {
			kills++
		}
		got := w.observe(t)
		if got.equal(w.state) {
			undone++
		} else if !got.equal(after) {
			t.Errorf("killed after %v: left %v", delay, got)
		}
		if out, err := w.program(t, args...).CombinedOutput(); err != nil {
			t.Errorf("killed after %v: the next run: %v: %s", delay, err, out)
		}
		if got := w.observe(t); !got.equal(after) {
			t.Errorf("killed after %v: the next run left %v, want %v", delay, got, after)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d of %d runs killed within %v; %d left the table as before", kills, rounds(), whole, undone)
	if kills == 0 {
		t.Error("no run was killed")
	}
}

// TestKilledIngest: an ingestion that is killed has landed all or nothing, and the same delivery lands once.
func TestKilledIngest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fileStore(t))
	file := filepath.Join(t.TempDir(), "in.ndjson")
	if err := os.WriteFile(file, records(1000, 4000), 0o600); err != nil {
		t.Fatal(err)
	}
	after := grown(40, printed(1000, 4000))(w.state.clone())
	killed(t, w, after, "ingest", flights.String(), file, "--shard-rows", "100", "--job-id", "delivery")
}

// TestKilledCompact: a compaction that is killed has merged or not, and loses nothing.
func TestKilledCompact(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fileStore(t))
	after := w.state.clone()
	after.shards[flights.String()] = 1
	killed(t, w, after, "compact", flights.String())
}

// TestSignalled: SIGTERM and Ctrl-C end a command with exit code 130, and leave nothing half done, while it works
// and while it waits for input.
func TestSignalled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fileStore(t))
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		for _, waits := range []bool{false, true} {
			what := fmt.Sprintf("%v, waiting %v", signal, waits)
			w.reset(t)
			cmd := w.program(t, "ingest", flights.String(), "-", "--format", "ndjson", "--shard-rows", "10", "--progress", "never")
			var errs bytes.Buffer
			cmd.Stderr = &errs
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if waits {
				_, err = in.Write(records(0, 20))
			} else {
				go endless(in)
			}
			if err != nil {
				t.Fatal(err)
			}
			w.awaitJob(t)
			cmd.Process.Signal(signal)
			overdue := time.AfterFunc(30*time.Second, func() { cmd.Process.Kill() })
			cmd.Wait()
			overdue.Stop()
			in.Close()
			if code := cmd.ProcessState.ExitCode(); code != 130 || strings.Count(errs.String(), "\n") > 1 {
				t.Errorf("%s: exit code %d, want 130: %s", what, code, &errs)
			}
			if got := w.observe(t); !got.equal(w.state) {
				t.Errorf("%s: left %v", what, got)
			}
		}
	}
}

// endless writes records until the reader goes.
func endless(to io.Writer) {
	for first := 0; ; first += 100 {
		if _, err := to.Write(records(first, 100)); err != nil {
			return
		}
	}
}

// awaitJob waits until a run has written the record of its job: it is at work then.
func (w *world) awaitJob(t *testing.T) {
	t.Helper()
	count := func() int {
		found, err := filepath.Glob(strings.TrimPrefix(w.store.root, "file://") + "/wh/vault/*/_jobs/*.json")
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	kept := 0
	for url := range w.common.objects {
		if strings.Contains(url, "/_jobs/") {
			kept++
		}
	}
	for range 600 {
		if count() > kept {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the program began no job within 30 s")
}

// roomWithin recognizes errors that name a full disk.
func roomWithin(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || slices.ContainsFunc([]string{"disk is full", "no space left"},
		func(s string) bool { return strings.Contains(err.Error(), s) })
}
