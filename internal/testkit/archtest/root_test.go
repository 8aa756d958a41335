package archtest

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// atRoot is what the root of the repository holds: the layers, what several of them share, and files that people look for there.
var atRoot = []string{
	"urlresolve", "blobio", "shardfmt", "manifest", "catalog", "compaction", "cmd",
	"internal", "testdata", "docs", "bench", "deploy", "clients", ".ci",
	"README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docker-compose.yml", ".gitignore",
	"go.mod", "go.sum", "shardcat.go", "example_test.go", "page_test.go",
}

// TestRoot: neither results of a run nor folders of a new kind are committed at the root.
func TestRoot(t *testing.T) {
	out, err := exec.Command("git", "-C", repository, "ls-files").Output()
	if err != nil {
		t.Skipf("not a checkout of git: %v", err)
	}
	for path := range strings.Lines(string(out)) {
		name, _, _ := strings.Cut(strings.TrimSpace(path), "/")
		if !slices.Contains(atRoot, name) {
			t.Errorf("%s: not a name that the root of the repository holds; add it to the list if it belongs there", strings.TrimSpace(path))
		}
	}
}
