package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestScanFormatByOutput: scan prints a table on a terminal, and NDJSON into a pipe or a file.
func TestScanFormatByOutput(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("a.ndjson", []byte("{\"id\":1,\"name\":\"Ada\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out := runIn(t, "ingest", "t", "a.ndjson", "--create"); code != exitDone {
		t.Fatal(out)
	}
	scan := func(out io.Writer) {
		t.Helper()
		a := newApp(strings.NewReader(""), out, io.Discard)
		if code := a.finish(t.Context(), a.execute(t.Context(), []string{"scan", "t"})); code != exitDone {
			t.Fatalf("exit code %d", code)
		}
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "rows"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	scan(file)
	if rows, err := os.ReadFile(file.Name()); err != nil || string(rows) != "{\"id\":1,\"name\":\"Ada\"}\n" {
		t.Errorf("into a file: %q, %v", rows, err)
	}
	terminal, seen := openTerminal(t)
	scan(terminal)
	terminal.Close()
	if text := seen(); strings.Contains(text, "{") || !strings.Contains(text, "id") || !strings.Contains(text, "Ada") {
		t.Errorf("on a terminal: %q", text)
	}
}
