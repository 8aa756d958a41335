package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shardcat/shardcat/internal/faultproxy"
)

const (
	// faultSample is how many broken runs of each command a store gets where SHARDCAT_FULL is not set.
	faultSample = 4
	// jobPlace in a command line becomes a job's id, a new one for each step: the record of a job lies with the
	// shards and is not reset.
	jobPlace = "JOB"
	// rowsA and rowsB are two files of two rows each.
	rowsA = `{"id":1,"host":"a"}` + "\n" + `{"id":2,"host":null}` + "\n"
	rowsB = `{"id":3,"host":"b"}` + "\n" + `{"id":4,"host":"c"}` + "\n"
)

// faults may happen to any request of a command.
var faults = []string{"drop", "lost", "lost 500", "fail 503", "fail 403", "twice", "cut 5", "cut -1"}

// walked is a command of the main job under faults. Before and after are the rows of the table, sorted.
type walked struct {
	name          string
	args          []string
	before, after []string
	reads         bool // its output is the rows
}

// TestMainJobUnderFaults breaks the requests of each command of the main job on each store, one at a time. It
// holds what the command line promises of that, exit codes and one line of error, where internal/faultwalk looks
// at the library below it.
// After each: a command that succeeded has done its work; one that failed says why on one line, never "not
// found" or "corrupt", and has left the table as before or as after; and the same command, unbroken, brings
// it to after. All of them with SHARDCAT_FULL=1, else a sample drawn with SHARDCAT_FAULT_SEED.
func TestMainJobUnderFaults(t *testing.T) {
	for _, variable := range []string{"SHARDCAT_TEST_S3", "SHARDCAT_TEST_AZURE", "SHARDCAT_TEST_GCS"} {
		t.Run(variable, func(t *testing.T) {
			if os.Getenv(variable) == "" {
				t.Skipf("%s is not set: no server to test with (.ci/servers starts one)", variable)
			}
			w := newWalk(t, os.Getenv(variable))
			two := rowsOf(rowsA)
			four := rowsOf(rowsA + rowsB)
			for _, c := range []walked{
				{"scan", []string{"scan", "t", "--format", "ndjson"}, two, two, true},
				{"count", []string{"scan", "t", "--where", "id > 0", "--format", "ndjson"}, two, two, true},
				{"ingest", []string{"ingest", "t", w.file("b.ndjson", rowsB), "--shard-rows", "1",
					"--job-id", jobPlace}, two, four, false},
				{"compact", []string{"compact", "t"}, two, two, false},
				{"create", []string{"table", "create", "u", "--schema", "id: Int64"}, two, two, false},
			} {
				t.Run(c.name, func(t *testing.T) { w.walk(t, c) })
			}
		})
	}
}

// walk is a table on a store, and the proxy before the store.
type walk struct {
	proxy            *faultproxy.Proxy
	straight, broken string // warehouse
	dir              string
	seed             uint64
	jobs             int
}

func newWalk(t *testing.T, raw string) *walk {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal("the bucket is no URL")
	}
	u.Path = fmt.Sprintf("/commands/%d", time.Now().UnixNano())
	w := &walk{straight: u.String(), dir: t.TempDir(), seed: 1}
	if s := os.Getenv("SHARDCAT_FAULT_SEED"); s != "" {
		if w.seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal("SHARDCAT_FAULT_SEED is no number")
		}
	}
	q := u.Query()
	if w.proxy, err = faultproxy.New(q.Get("endpoint")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.proxy.Close() })
	q.Set("endpoint", w.proxy.URL())
	u.RawQuery = q.Encode()
	w.broken = u.String()
	for _, args := range [][]string{{"table", "create", "t", "--schema", "id: Int64, host: String"},
		{"ingest", "t", w.file("a.ndjson", rowsA), "--shard-rows", "1"}} {
		if code, out := w.run(w.straight, args); code != exitDone {
			t.Fatalf("%v: exit %d: %s", args, code, out)
		}
	}
	w.keep(t)
	return w
}

func (w *walk) file(name, text string) string {
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		panic(err) // a folder of the test's own
	}
	return path
}

// run runs one command line and returns its exit code and what it printed: rows, or the error.
func (w *walk) run(warehouse string, args []string) (code int, printed string) {
	var out, errs bytes.Buffer
	a := newApp(strings.NewReader(""), &out, &errs)
	global := []string{"--catalog", "sqlite:" + filepath.Join(w.dir, "catalog.db"), "--warehouse", warehouse, "--progress", "never"}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	code = a.finish(ctx, a.execute(ctx, append(global, args...)))
	if code != exitDone {
		return code, errs.String()
	}
	return code, out.String()
}

// job puts a new job's id into a command line.
func (w *walk) job(args []string) []string {
	w.jobs++
	args = slices.Clone(args)
	for i := range args {
		if args[i] == jobPlace {
			args[i] = fmt.Sprintf("00000000-0000-0000-0000-%012d", w.jobs)
		}
	}
	return args
}

// catalogFiles are those of the SQLite catalog.
func (w *walk) catalogFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "catalog.db*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// keep puts the catalog aside. Everything else is write-once, so this is the table's whole state.
func (w *walk) keep(t *testing.T) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(w.dir, "kept"), 0o777); err != nil {
		t.Fatal(err)
	}
	w.move(t, w.dir, filepath.Join(w.dir, "kept"))
}

// reset brings the table back to where keep was called.
func (w *walk) reset(t *testing.T) {
	t.Helper()
	for _, f := range w.catalogFiles(t, w.dir) {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	w.move(t, filepath.Join(w.dir, "kept"), w.dir)
}

func (w *walk) move(t *testing.T, from, to string) {
	t.Helper()
	for _, f := range w.catalogFiles(t, from) {
		b, err := os.ReadFile(f)
		if err == nil {
			err = os.WriteFile(filepath.Join(to, filepath.Base(f)), b, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// walk breaks the requests of a command.
func (w *walk) walk(t *testing.T, c walked) {
	w.reset(t)
	if err := w.proxy.Set(""); err != nil {
		t.Fatal(err)
	}
	if code, out := w.run(w.broken, w.job(c.args)); code != exitDone {
		t.Fatalf("unbroken: exit %d: %s", code, out)
	}
	requests := w.proxy.Requests("any")
	if requests == 0 && c.name != "create" {
		t.Fatal("no request went through the proxy")
	}
	steps := w.steps(requests)
	for _, s := range steps {
		w.step(t, c, s.fault, s.n)
	}
	t.Logf("%d requests, %d broken runs (seed %d)", requests, len(steps), w.seed)
}

// step is one broken request.
type step struct {
	fault string
	n     int
}

// steps are all faults of all requests, or a sample of them.
func (w *walk) steps(requests int) []step {
	var steps []step
	for _, fault := range faults {
		for n := 1; n <= requests; n++ {
			steps = append(steps, step{fault, n})
		}
	}
	if os.Getenv("SHARDCAT_FULL") == "" {
		rng := rand.New(rand.NewPCG(w.seed, uint64(len(steps))))
		rng.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
		steps = steps[:min(faultSample, len(steps))]
	}
	return steps
}

// step runs a command whose n-th request breaks, and looks at what it said and left.
func (w *walk) step(t *testing.T, c walked, fault string, n int) {
	t.Helper()
	w.reset(t)
	if err := w.proxy.Set(fmt.Sprintf("any %d: %s", n, fault)); err != nil {
		t.Fatal(err)
	}
	args := w.job(c.args)
	code, printed := w.run(w.broken, args)
	where := fmt.Sprintf("request %d, %s: exit %d", n, fault, code)
	switch {
	case code == exitDone && c.reads && !slices.Equal(rowsOf(printed), c.after):
		t.Errorf("%s: wrong rows: %q", where, printed)
	case code != exitDone && code != exitFailed && code != exitConflict:
		t.Errorf("%s: %s", where, printed)
	case code != exitDone && strings.Count(printed, "\n") != 1:
		t.Errorf("%s: an error of several lines: %q", where, printed)
	}
	if rows := w.rows(t); !slices.Equal(rows, c.after) && (code == exitDone || !slices.Equal(rows, c.before)) {
		t.Errorf("%s: the table has rows %q", where, rows)
	}
	if code == exitDone || c.name == "create" {
		return
	}
	if again, printed := w.run(w.straight, args); again != exitDone {
		t.Errorf("%s: run again, exit %d: %s", where, again, printed)
	}
	if rows := w.rows(t); !slices.Equal(rows, c.after) {
		t.Errorf("%s: run again, the table has rows %q", where, rows)
	}
}

// rows of the table, read past the proxy.
func (w *walk) rows(t *testing.T) []string {
	t.Helper()
	code, printed := w.run(w.straight, []string{"scan", "t", "--format", "ndjson"})
	if code != exitDone {
		t.Errorf("the table can't be read any more: exit %d: %s", code, printed)
	}
	return rowsOf(printed)
}

func rowsOf(ndjson string) []string {
	return slices.Sorted(strings.SplitSeq(strings.TrimSpace(ndjson), "\n"))
}
