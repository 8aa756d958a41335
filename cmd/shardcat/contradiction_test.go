package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A shard whose descriptors of a column and of a member of a struct count all values as null, beside stored values: whatever reads its rows
// reads those, and reports it.
func TestReadersWarnOfContradictions(t *testing.T) {
	dir := t.TempDir()
	shard := filepath.Join(dir, "in", "contradiction.amudai.shard")
	if err := os.CopyFS(filepath.Join(dir, "in"), os.DirFS("testdata/contradiction")); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (stdout, stderr string) {
		t.Helper()
		var out, errs bytes.Buffer
		args = append([]string{"--catalog", "sqlite:" + dir + "/c.db", "--warehouse", dir + "/wh"}, args...)
		if err := newApp(strings.NewReader(""), &out, &errs).execute(t.Context(), args); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return out.String(), errs.String()
	}
	run("table", "create", "t", "--schema", "k: Int64, m: Struct<v: Int64>")
	run("register", "t", shard, "--read-data", "least")
	for _, args := range [][]string{
		{"shard", "cat", shard},
		{"scan", "t"},
		{"scan", "t", "--count", "--where", "k IS NOT NULL AND m.v IS NOT NULL"},
		{"export", "t", dir + "/e.ndjson"},
		{"export", "t", dir + "/e.parquet"},
		{"convert", shard, dir + "/c.ndjson"},
		{"convert", shard, dir + "/c.parquet"},
		{"convert", shard, dir + "/c.amudai.shard"},
		{"--json", "export", "t", dir + "/j.ndjson"},
		{"--json", "convert", shard, dir + "/j.arrow"},
	} {
		stdout, stderr := run(args...)
		if !strings.Contains(stderr, "the statistics of 2 fields contradict each other or the stored presence") || !strings.Contains(stderr, "verify lists them") {
			t.Errorf("%v says %q", args, stderr)
		}
		if args[0] == "--json" {
			var r struct{ Contradictions int }
			if err := json.Unmarshal([]byte(stdout), &r); err != nil || r.Contradictions != 2 {
				t.Errorf("%v: %s, %v", args, stdout, err)
			}
		}
	}
	// What convert has written is right, so there is nothing to report about it.
	if _, stderr := run("shard", "cat", dir+"/c.amudai.shard"); stderr != "" {
		t.Errorf("of the shard that convert wrote: %q", stderr)
	}
}

// brokenList is standard input that ends with an error after the names of some runs.
type brokenList struct {
	io.Reader
}

func (b brokenList) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = errors.New("input/output error")
	}
	return n, err
}

// A list of runs that breaks off commits nothing: the runs that it did not name would end with the job, and their shards with them.
func TestBrokenListOfRunsCommitsNothing(t *testing.T) {
	dir := t.TempDir()
	run := func(stdin io.Reader, args ...string) (string, error) {
		t.Helper()
		var out, errs bytes.Buffer
		args = append([]string{"--catalog", "sqlite:" + dir + "/c.db", "--warehouse", dir + "/wh"}, args...)
		err := newApp(stdin, &out, &errs).execute(t.Context(), args)
		return out.String(), err
	}
	if _, err := run(strings.NewReader(""), "table", "create", "t", "--schema", "id: Int64"); err != nil {
		t.Fatal(err)
	}
	var runs []string
	for _, part := range []string{"a", "b"} {
		out, err := run(strings.NewReader(`{"id":1}`), "--json", "ingest", "t", "-", "--format", "ndjson", "--uncommitted", "--job-id", "load", "--part", part)
		var w struct{ Run string }
		if err := errors.Join(err, json.Unmarshal([]byte(out), &w)); err != nil || w.Run == "" {
			t.Fatalf("%s, %v", out, err)
		}
		runs = append(runs, w.Run)
	}
	for _, list := range []string{runs[0] + "\n", runs[0] + "\n" + runs[1][:len(runs[1])-1], runs[0] + "\n" + runs[1] + "\n", ""} {
		if out, err := run(brokenList{strings.NewReader(list)}, "job", "commit", "t", "load", "-"); err == nil || !strings.Contains(err.Error(), "standard input: input/output error") {
			t.Errorf("a list that breaks off after %q: %s, %v", list, out, err)
		}
		if out, err := run(strings.NewReader(""), "scan", "t", "--count"); err != nil || out != "0\n" {
			t.Errorf("a list that breaks off after %q: %s rows, %v", list, out, err)
		}
	}
	if _, err := run(strings.NewReader(strings.Join(runs, "\n")), "job", "commit", "t", "load", "-"); err != nil {
		t.Fatal(err)
	}
	if out, err := run(strings.NewReader(""), "scan", "t", "--count"); err != nil || out != "2\n" {
		t.Errorf("after the whole list: %s rows, %v", out, err)
	}
}
