package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// exits runs a command line and holds its exit code: exits 3 shardcat shard verify x.
// Its streams are kept in the files "out" and "err".
func exits(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	path, err := exec.LookPath(args[1])
	ts.Check(err)
	cmd := exec.Command(path, args[2:]...)
	cmd.Dir = ts.Getenv("WORK")
	cmd.Env = append(os.Environ(), "HOME="+ts.Getenv("WORK"), "SHARDCAT_CATALOG="+ts.Getenv("SHARDCAT_CATALOG"), "SHARDCAT_WAREHOUSE="+ts.Getenv("SHARDCAT_WAREHOUSE"),
		"SHARDCAT_PROGRESS="+ts.Getenv("SHARDCAT_PROGRESS"), "SHARDCAT_CPU="+ts.Getenv("SHARDCAT_CPU"))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the exit code is what counts
	ts.Check(os.WriteFile(ts.MkAbs("out"), out.Bytes(), 0o666))
	ts.Check(os.WriteFile(ts.MkAbs("err"), errs.Bytes(), 0o666))
	if got := cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("exit code %d, want %d\n%s%s", got, want, out.Bytes(), errs.Bytes())
	}
	if want != 0 && want != exitUsage && strings.Count(errs.String(), "\n") > 1 {
		ts.Fatalf("an error of more than one line:\n%s", errs.Bytes())
	}
}

// flip changes one bit of a file: flip PATTERN OFFSET; a negative offset counts from the end.
func flip(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: flip PATTERN OFFSET")
	}
	files, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(files) == 0 {
		ts.Fatalf("no file matches %s", args[0])
	}
	sort.Strings(files)
	data, err := os.ReadFile(files[0])
	ts.Check(err)
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	if at < 0 {
		at += len(data)
	}
	data[at] ^= 0x10
	ts.Check(os.Chmod(files[0], 0o666))
	ts.Check(os.WriteFile(files[0], data, 0o666))
}

// rowSame holds two NDJSON files to be the same rows, in any order.
func rowSame(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: rowsame A B")
	}
	lines := func(name string) []string {
		out := strings.Split(strings.TrimSpace(ts.ReadFile(name)), "\n")
		sort.Strings(out)
		return out
	}
	a, b := lines(args[0]), lines(args[1])
	if len(a) != len(b) {
		ts.Fatalf("%d rows in %s, %d in %s", len(a), args[0], len(b), args[1])
	}
	for i := range a {
		if a[i] != b[i] {
			ts.Fatalf("row %d:\n%s\n%s", i, a[i], b[i])
		}
	}
}

// jsonAt holds values of a JSON document: jsonat FILE PATH=VALUE…, where PATH is dotted and a number is an index,
// and VALUE is JSON text, or >N for more than N.
func jsonAt(ts *testscript.TestScript, _ bool, args []string) {
	var doc any
	text := ts.ReadFile(args[0])
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		ts.Fatalf("%s: %v\n%s", args[0], err, text)
	}
	for _, arg := range args[1:] {
		path, want, _ := strings.Cut(arg, "=")
		v := doc
		for _, step := range strings.Split(path, ".") {
			v = member(ts, v, step, arg)
		}
		got, err := json.Marshal(v)
		ts.Check(err)
		if low, ok := strings.CutPrefix(want, ">"); ok {
			limit, err := strconv.ParseFloat(low, 64)
			ts.Check(err)
			if n, isNumber := v.(float64); !isNumber || n <= limit {
				ts.Fatalf("%s: got %s\n%s", arg, got, text)
			}
		} else if string(got) != want {
			ts.Fatalf("%s: got %s\n%s", arg, got, text)
		}
	}
}

func member(ts *testscript.TestScript, v any, step, arg string) any {
	switch v := v.(type) {
	case map[string]any:
		if m, ok := v[step]; ok {
			return m
		}
	case []any:
		if step == "len" {
			return float64(len(v))
		}
		if i, err := strconv.Atoi(step); err == nil && i < len(v) {
			return v[i]
		}
	}
	ts.Fatalf("%s: there is no %s in %s", arg, step, fmt.Sprint(v))
	return nil
}
