package main

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
)

// at is the URL of a shard in the walk's bucket, straight or through the proxy.
func (w *walk) at(t *testing.T, warehouse, name string) string {
	t.Helper()
	u, err := url.Parse(warehouse)
	if err != nil {
		t.Fatal("the warehouse is no URL")
	}
	u.Path += "/shards/" + name + ".amudai.shard"
	return u.String()
}

// TestShardCommandsUnderFaults breaks the requests of the commands that work on single shards. What a command
// wrote is whole and right, or not there; what it read is right, or it failed.
func TestShardCommandsUnderFaults(t *testing.T) {
	for _, variable := range []string{"SHARDCAT_TEST_S3", "SHARDCAT_TEST_AZURE", "SHARDCAT_TEST_GCS"} {
		t.Run(variable, func(t *testing.T) {
			if os.Getenv(variable) == "" {
				t.Skipf("%s is not set: no server to test with (.ci/servers starts one)", variable)
			}
			w := newWalk(t, os.Getenv(variable))
			a, in := w.file("a.ndjson", rowsA), w.at(t, w.broken, "in")
			if code, out := w.run(w.straight, []string{"shard", "write", w.at(t, w.straight, "in"), a}); code != exitDone {
				t.Fatalf("exit %d: %s", code, out)
			}
			for _, c := range []struct {
				name string
				args func(out string) []string // out is a new shard for each step
				rows []string                  // of out, or of what is printed
				out  bool
			}{
				{"write", func(out string) []string { return []string{"shard", "write", out, a} }, rowsOf(rowsA), true},
				{"merge", func(out string) []string { return []string{"shard", "merge", out, in, in} }, rowsOf(rowsA + rowsA), true},
				{"cat", func(string) []string { return []string{"shard", "cat", in, "--format", "ndjson"} }, rowsOf(rowsA), false},
				{"verify", func(string) []string { return []string{"shard", "verify", in} }, nil, false},
				{"inspect", func(string) []string { return []string{"shard", "inspect", in, "-v", "--json"} }, nil, false},
			} {
				t.Run(c.name, func(t *testing.T) { w.walkShard(t, c.name, c.args, c.rows, c.out) })
			}
		})
	}
}

func (w *walk) walkShard(t *testing.T, name string, args func(string) []string, rows []string, out bool) {
	if err := w.proxy.Set(""); err != nil {
		t.Fatal(err)
	}
	if code, printed := w.run(w.broken, args(w.at(t, w.broken, name))); code != exitDone {
		t.Fatalf("unbroken: exit %d: %s", code, printed)
	}
	for i, s := range w.steps(w.proxy.Count()) {
		shard := fmt.Sprintf("%s-%d", name, i)
		if err := w.proxy.Set(fmt.Sprintf("any %d: %s", s.n, s.fault)); err != nil {
			t.Fatal(err)
		}
		code, printed := w.run(w.broken, args(w.at(t, w.broken, shard)))
		where := fmt.Sprintf("request %d, %s: exit %d", s.n, s.fault, code)
		switch {
		case code != exitDone && (code != exitFailed || strings.Count(printed, "\n") != 1):
			t.Errorf("%s: %q", where, printed)
		case code == exitDone && !out && rows != nil && !slices.Equal(rowsOf(printed), rows):
			t.Errorf("%s: wrong rows %q", where, printed)
		}
		if out {
			w.wholeOrGone(t, where, w.at(t, w.straight, shard), rows, code == exitDone)
		}
	}
}

// wholeOrGone reads a shard that a command may have written, past the proxy.
func (w *walk) wholeOrGone(t *testing.T, where, shard string, rows []string, must bool) {
	t.Helper()
	code, printed := w.run(w.straight, []string{"shard", "cat", shard, "--format", "ndjson"})
	switch {
	case code == exitNotFound && !must:
	case code != exitDone:
		t.Errorf("%s: then it reads with exit %d: %s", where, code, printed)
	case !slices.Equal(rowsOf(printed), rows):
		t.Errorf("%s: then it has rows %q", where, printed)
	}
}
