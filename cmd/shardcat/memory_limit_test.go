package main

import (
	"bytes"
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
