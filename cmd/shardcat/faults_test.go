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

	"github.com/shardcat/shardcat/internal/testkit/faultproxy"
)

// faultSample is how many broken runs of each command a store gets where SHARDCAT_FULL is not set.
const faultSample = 4

// faults may happen to any request of a command.
var faults = []string{"drop", "lost", "lost 500", "fail 503", "fail 403", "twice", "cut 5", "cut -1"}

// TestExitCodesUnderFaults breaks the requests of commands on each store, one at a time, and holds what the command line
// promises of that: a command that could not do its work reports why on one line and ends with an exit code that
// scripts can distinguish. The rest of the tables is looked at by internal/testkit/faultwalk.
func TestExitCodesUnderFaults(t *testing.T) {
	for _, variable := range []string{"SHARDCAT_TEST_S3", "SHARDCAT_TEST_AZURE", "SHARDCAT_TEST_GCS"} {
		t.Run(variable, func(t *testing.T) {
			if os.Getenv(variable) == "" {
				t.Skipf("%s is not set: no server to test with (.ci/servers starts one)", variable)
			}
			b := newBroken(t, os.Getenv(variable))
			b.done(t, "table", "create", "t", "--schema", "id: Int64, host: String")
			b.done(t, "ingest", "t", b.in, "--shard-rows", "1")
			for _, command := range [][]string{
				{"scan", "t", "--format", "ndjson"},
				{"ingest", "t", b.in, "--shard-rows", "1"},
				{"compact", "t"},
				{"table", "describe", "t"},
			} {
				t.Run(command[0], func(t *testing.T) { b.breakEach(t, command) })
			}
		})
	}
}

// broken is a warehouse on a store behind a proxy.
type broken struct {
	proxy             *faultproxy.Proxy
	warehouse, db, in string
	random            *rand.Rand
}

func newBroken(t *testing.T, raw string) *broken {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal("the bucket is not a URL")
	}
	q, dir := u.Query(), t.TempDir()
	b := &broken{db: "sqlite:" + filepath.Join(dir, "catalog.db"), in: filepath.Join(dir, "in.ndjson")}
	if b.proxy, err = faultproxy.New(q.Get("endpoint")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.proxy.Close() })
	q.Set("endpoint", b.proxy.URL())
	u.RawQuery, u.Path = q.Encode(), fmt.Sprintf("/commands/%d", time.Now().UnixNano())
	b.warehouse = u.String()
	seed := uint64(1)
	if s := os.Getenv("SHARDCAT_SEED"); s != "" {
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal("SHARDCAT_SEED is not a number")
		}
	}
	b.random = rand.New(rand.NewPCG(seed, 0))
	rows := `{"id":1,"host":"a"}` + "\n" + `{"id":2,"host":null}` + "\n"
	if err := os.WriteFile(b.in, []byte(rows), 0o666); err != nil {
		t.Fatal(err)
	}
	return b
}

// run runs one command line and returns its exit code, what it printed and the error.
func (b *broken) run(args []string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	a := newApp(strings.NewReader(""), &stdout, &stderr)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	global := []string{"--catalog", b.db, "--warehouse", b.warehouse, "--progress", "never"}
	code = a.finish(ctx, a.execute(ctx, append(global, args...)))
	return code, stdout.String(), stderr.String()
}

// done runs a command line without faults.
func (b *broken) done(t *testing.T, args ...string) (out string) {
	t.Helper()
	if err := b.proxy.Set(""); err != nil {
		t.Fatal(err)
	}
	code, out, errs := b.run(args)
	if code != exitDone {
		t.Fatalf("%v: exit %d: %s", args, code, errs)
	}
	return out
}

// breakEach breaks each request of a command in turn, or a sample of them.
func (b *broken) breakEach(t *testing.T, args []string) {
	want := b.done(t, args...)
	requests := b.proxy.Requests("any")
	if requests == 0 {
		t.Fatal("no request went through the proxy")
	}
	var scripts []string
	for _, fault := range faults {
		for n := 1; n <= requests; n++ {
			scripts = append(scripts, fmt.Sprintf("any %d: %s", n, fault))
		}
	}
	if os.Getenv("SHARDCAT_FULL") == "" {
		b.random.Shuffle(len(scripts), func(i, j int) { scripts[i], scripts[j] = scripts[j], scripts[i] })
		scripts = scripts[:min(faultSample, len(scripts))]
	}
	for _, script := range scripts {
		if err := b.proxy.Set(script); err != nil {
			t.Fatal(err)
		}
		switch code, out, errs := b.run(args); {
		case code == exitDone && args[0] == "scan" && !sameLines(out, want):
			t.Errorf("%s: wrong rows: %q, want %q", script, out, want)
		case code != exitDone && code != exitFailed && code != exitConflict:
			t.Errorf("%s: exit %d: %s", script, code, errs)
		case code != exitDone && strings.Count(errs, "\n") != 1:
			t.Errorf("%s: exit %d, and an error of several lines or none: %q", script, code, errs)
		}
	}
	t.Logf("%d requests, %d broken runs", requests, len(scripts))
}

func sameLines(a, b string) bool {
	sorted := func(s string) []string { return slices.Sorted(strings.Lines(s)) }
	return slices.Equal(sorted(a), sorted(b))
}
