package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

// full is an output that takes nothing.
type full struct{}

var errFull = errors.New("no space left on device")

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestLostOutputFails: a command whose output can't be written ends with 1, whatever it is.
func TestLostOutputFails(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("a.ndjson", []byte("{\"a\":1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"ingest t a.ndjson --create", "--help", "scan --help", "--version", "table list", "table list --json", "table describe t",
		"table history t", "scan t", "scan t --format table", "scan t --count", "scan t --explain", "plan t", "compact t", "docs",
		"completion bash",
	} {
		var errs bytes.Buffer
		a := newApp(strings.NewReader(""), full{}, &errs)
		ctx := context.Background()
		if code := a.finish(ctx, a.execute(ctx, strings.Fields(line))); code != exitFailed || !strings.Contains(errs.String(), errFull.Error()) {
			t.Errorf("%s: exit code %d, %s", line, code, errs.String())
		}
	}
}

// TestNamesDoNotSteerTerminals: what people read never holds a control character, and errors neither.
func TestNamesDoNotSteerTerminals(t *testing.T) {
	var out, errs bytes.Buffer
	a := newApp(strings.NewReader(""), &out, &errs)
	a.printf("column %s\n", "x\x1b[2Jy")
	a.warn("field \x1b]0;title\a")
	a.printError(errors.New("no \x1b[31m\nfield"), exitFailed)
	if text := out.String() + errs.String(); strings.ContainsAny(text, "\x1b\a") || !strings.Contains(text, "column x·[2Jy\n") {
		t.Errorf("%q", text)
	}
}
