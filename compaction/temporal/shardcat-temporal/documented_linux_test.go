package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// documentedLines are the commands of the page's section on Temporal.
func documentedLines(t *testing.T, page string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Compaction on many machines: Temporal\n")
	section, _, _ = strings.Cut(section, "\n## ")
	inside := false
	for line := range strings.Lines(section) {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "```"):
			inside = !inside
		case inside && line != "":
			lines = append(lines, line)
		}
	}
	return lines
}

// TestDocumentedLines runs the lines of docs/guides/scale-out.md as they are written, with the address of a server of its own: the program is built from the
// checkout by its line, or is the one of a release's archive that SHARDCAT_TEMPORAL_PROGRAM names.
func TestDocumentedLines(t *testing.T) {
	built := os.Getenv("SHARDCAT_TEMPORAL_PROGRAM")
	if built == "" && os.Getenv("SHARDCAT_FULL") == "" {
		t.Skip("neither SHARDCAT_TEMPORAL_PROGRAM nor SHARDCAT_FULL is set: the documented lines are not run, for they build the program")
	}
	checkout, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	lines := documentedLines(t, filepath.Join(checkout, "docs/guides/scale-out.md"))
	if len(lines) != 5 {
		t.Fatalf("the page has the lines %q", lines)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	dir := t.TempDir()
	tbl, server := ground(ctx, t, dir, "logs")
	if built != "" {
		if err := os.Symlink(built, filepath.Join(dir, "shardcat-temporal")); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range lines {
		cmd := exec.CommandContext(ctx, "bash", "-c", "exec "+strings.ReplaceAll(line, "temporal:7233", server.GetFrontendHostPort()+" --namespace "+server.GetDefaultNamespace()))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "SHARDCAT_CATALOG=sqlite:"+filepath.Join(dir, "catalog.db"), "SHARDCAT_WAREHOUSE="+filepath.Join(dir, "wh"))
		switch {
		case strings.HasPrefix(line, "(cd "):
			if built != "" {
				continue
			}
			cmd = exec.CommandContext(ctx, "bash", "-c", strings.ReplaceAll(line, "../../shardcat-temporal", filepath.Join(dir, "shardcat-temporal")))
			cmd.Dir = checkout
		case strings.Contains(line, " worker "):
			var said bytes.Buffer
			cmd.Stdout, cmd.Stderr = io.Discard, &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = cmd.Process.Signal(syscall.SIGTERM)
				if err := cmd.Wait(); err != nil {
					t.Errorf("%s: %v: %s", line, err, said.String())
				}
			}()
			continue
		}
		if out, err := cmd.CombinedOutput(); err != nil || !strings.HasPrefix(line, "(") && len(out) == 0 {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
	}
	if err := tbl.Refresh(ctx); err != nil || tbl.Describe().Shards != 1 || tbl.Describe().Records != 30 {
		t.Errorf("%+v, %v", tbl.Describe(), err)
	}
}
