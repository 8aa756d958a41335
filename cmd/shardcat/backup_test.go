package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestBackupPage runs the steps of docs/guides/backup.md as they are written.
func TestBackupPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/guides/backup.md")
	if err != nil {
		t.Fatal(err)
	}
	lines, inside := []string{"set -euxo pipefail"}, false
	for line := range strings.Lines(string(text)) {
		switch line = strings.TrimSuffix(line, "\n"); {
		case strings.HasPrefix(line, "```"):
			inside = line == "```sh"
		case inside && strings.HasPrefix(line, "! "): // bash ends at no line that begins with "!"
			lines = append(lines, "if "+line[2:]+"; then exit 1; fi")
		case inside:
			lines = append(lines, line)
		}
	}
	if len(lines) < 20 {
		t.Fatalf("the page has %d steps", len(lines))
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", strings.Join(lines, "\n"))
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+cmd.Dir, "SHARDCAT_PROGRESS=never")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}
