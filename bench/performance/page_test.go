package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	document = "../../docs/performance.md"
	record   = "../results.md"
)

// The pages and their plots are what the command renders from its results: nobody edits them by hand.
func TestPageIsRendered(t *testing.T) {
	r, err := load("results.json")
	if err != nil {
		t.Fatal(err)
	}
	out, err := render(r)
	if err != nil {
		t.Fatal(err)
	}
	same(t, document, out.page)
	same(t, record, out.record)
	if n := strings.Count(out.page, "\n"); n > 300 {
		t.Errorf("the page has %d lines, of at most 300: history belongs in the record", n)
	}
	for name, svg := range out.plots {
		same(t, filepath.Join(filepath.Dir(document), name), svg)
		if !strings.Contains(out.page, "("+name+")") {
			t.Errorf("the page doesn't show %s", name)
		}
	}
}

// same compares a file with what was rendered, and shows the first line that differs.
func same(t *testing.T, name, want string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Error(err)
		return
	}
	if string(b) == want {
		return
	}
	got, wanted := strings.Split(string(b), "\n"), strings.Split(want, "\n")
	for i := range got {
		if i >= len(wanted) || got[i] != wanted[i] {
			line := "(no more lines)"
			if i < len(wanted) {
				line = wanted[i]
			}
			t.Errorf("%s, line %d is not what is rendered (cd bench && go run ./performance -render):\nfile     %s\nrendered %s", name, i+1, got[i], line)
			return
		}
	}
	t.Errorf("%s lacks lines that are rendered (cd bench && go run ./performance -render)", name)
}

// A file of results comes back as it was written.
func TestResultsComeBack(t *testing.T) {
	b, err := os.ReadFile("results.json")
	if err != nil {
		t.Fatal(err)
	}
	r, err := load("results.json")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "results.json")
	if err := r.save(name); err != nil {
		t.Fatal(err)
	}
	same(t, name, string(b))
}

// What is recorded reports when and how.
func TestRecordedFragments(t *testing.T) {
	good := "recorded: 2026-11-23\ncommand: `go test`\n\n## Title\n\ntext\n"
	if got, err := recorded(good); err != nil || got != "## Title\n\n*Recorded on 2026-11-23, not with the rest of the page:* `go test`\n\ntext" {
		t.Errorf("%q %v", got, err)
	}
	for _, bad := range []string{"recorded: yesterday\ncommand: x\n\n## T\n\nx", "recorded: 2026-11-23\n\n## T\n\nx", "recorded: 2026-11-23\ncommand: \n\n## T\n\nx",
		"recorded: 2026-11-23\ncommand: x\n\ntext"} {
		if got, err := recorded(bad); err == nil {
			t.Errorf("%q became %q", bad, got)
		}
	}
}
