package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompletion: a shell is given the tables of the catalog, and the columns of the table that a command names.
func TestCompletion(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SHARDCAT_CATALOG", "sqlite:"+filepath.Join(dir, "c.db"))
	t.Setenv("SHARDCAT_WAREHOUSE", filepath.Join(dir, "w"))
	run := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		a := newApp(strings.NewReader(""), &out, &errs)
		if code := a.finish(t.Context(), a.execute(t.Context(), args)); code != exitDone {
			t.Fatalf("%v: exit %d: %s", args, code, errs.String())
		}
		return out.String()
	}
	for _, name := range []string{"flights", "flags", "logs.web"} {
		if strings.Contains(name, ".") {
			run("namespace", "create", "logs")
		}
		run("table", "create", name, "--schema", "origin: String, pos: Struct<x: Int64, y: Int64>")
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"scan", "fl"}, "flags flights"},
		{[]string{"scan", "default.fli"}, "default.flights"},
		{[]string{"table", "describe", "lo"}, "logs.web"},
		{[]string{"compact", ""}, "flags flights logs.web"},
		{[]string{"scan", "flights", "--select", "origin,po"}, "origin,pos origin,pos.x origin,pos.y"},
		{[]string{"scan", "flights", "--where", "pos.x = 1 AND or"}, "pos.x = 1 AND origin"},
		{[]string{"table", "create", "fl"}, ""},
	} {
		lines := strings.Split(run(append([]string{"__complete"}, c.args...)...), "\n")
		var got []string
		for _, line := range lines {
			if line != "" && !strings.HasPrefix(line, ":") && !strings.HasPrefix(line, "Completion ended") {
				got = append(got, line)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q completes to %q, want %q", c.args, got, c.want)
		}
	}
}
