package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// --max-memory sets the soft limit of the runtime, unless GOMEMLIMIT does.
func TestMaxMemoryLimitsTheHeap(t *testing.T) {
	t.Setenv("SHARDCAT_CATALOG", "sqlite:"+t.TempDir()+"/catalog.db")
	for _, c := range []struct {
		env, flag string
		want      int64
	}{
		{"", "67108864", 128<<20 + heapBase}, {"", "", 2<<30 + heapBase}, {"", "9223372036854775807", 1<<63 - 2}, {"1GiB", "67108864", 0},
	} {
		t.Setenv("GOMEMLIMIT", c.env)
		var out, errs bytes.Buffer
		a, got := newApp(strings.NewReader(""), &out, &errs), int64(0)
		a.setMemoryLimit = func(n int64) int64 { got = n; return 0 }
		args := []string{"table", "list"}
		if c.flag != "" {
			args = append(args, "--max-memory", c.flag)
		}
		a.finish(t.Context(), a.execute(t.Context(), args))
		if got != c.want {
			t.Errorf("--max-memory %q, GOMEMLIMIT %q: %d, want %d; %s", c.flag, c.env, got, c.want, errs.String())
		}
	}
}

// An export collects garbage more often than other commands, unless GOGC is set.
func TestExportCollectsOften(t *testing.T) {
	dir := t.TempDir()
	base := []string{"--catalog", "sqlite:" + dir + "/catalog.db", "--warehouse", dir + "/wh"}
	rows := filepath.Join(dir, "rows.ndjson")
	if err := os.WriteFile(rows, []byte("{\"id\": 1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for n, c := range []struct {
		env  string
		args []string
		want int
	}{
		{"", []string{"ingest", "t", rows, "--create"}, 0},
		{"", []string{"scan", "t"}, 0},
		{"", []string{"export", "t", dir + "/a.parquet"}, exportGCPercent},
		{"200", []string{"export", "t", dir + "/b.parquet"}, 0},
	} {
		t.Setenv("GOGC", c.env)
		var out, errs bytes.Buffer
		a, got := newApp(strings.NewReader(""), &out, &errs), 0
		a.setGCPercent = func(n int) int { got = n; return 100 }
		if code := a.finish(t.Context(), a.execute(t.Context(), append(base, c.args...))); code != exitDone || got != c.want {
			t.Errorf("%d: exit code %d, a growth of %d %%, want %d: %s", n, code, got, c.want, errs.String())
		}
	}
}
