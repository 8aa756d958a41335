package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// guidePages are the pages of docs/guides whose steps run, with the least number of lines that they have.
var guidePages = map[string]int{"backup": 20, "landing": 30, "lifecycle": 25, "migrating": 20, "querying": 25, "scale-out": 12}

// TestGuides runs the steps of pages as they are written, each in a folder of its own.
func TestGuides(t *testing.T) {
	for page, least := range guidePages {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			runGuide(t, "../../docs/guides/"+page+".md", least)
		})
	}
}

// runGuide runs the blocks of a page that are marked sh.
func runGuide(t *testing.T, page string, least int) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("jq"); err != nil && strings.Contains(string(text), "jq -") {
		t.Skipf("jq is not installed: the steps of %s are not run", page)
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
	if len(lines) < least {
		t.Fatalf("the page has %d steps", len(lines))
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", strings.Join(lines, "\n"))
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+cmd.Dir, "SHARDCAT_PROGRESS=never")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}
