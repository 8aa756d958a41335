package docscheck

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const page = "../../../docs/features.md"

// rows is the number of features by the letter of their ids.
var rows = map[string]int{"S": 145, "T": 48, "E": 25, "L": 65, "C": 68, "Y": 78}

var (
	rowPattern  = regexp.MustCompile(`^\| ([A-Z])(\d+x?) \| (.+) \| \[([ x])\] \|(.*)\|$`)
	testPattern = regexp.MustCompile("`([^`]+)\\.((?:Test|Fuzz|Benchmark)[A-Za-z0-9_]*)`")
	funcPattern = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Za-z0-9_]*)\(`)
)

// testsInTree lists the test functions of every folder as "folder.TestName", and testscripts as
// "folder.TestScripts/name".
func testsInTree(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	err := fs.WalkDir(os.DirFS("../../.."), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, "_test.go") {
			return err
		}
		text, err := os.ReadFile(filepath.Join("../../..", p))
		for _, m := range funcPattern.FindAllStringSubmatch(string(text), -1) {
			found[path.Dir(p)+"."+m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestEveryFeatureHasItsRow(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	seen, count := map[string]bool{}, map[string]int{}
	tests := testsInTree(t)
	for _, line := range strings.Split(string(text), "\n") {
		m := rowPattern.FindStringSubmatch(line)
		if m == nil {
			if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| id |") {
				t.Errorf("a row that is none: %s", line)
			}
			continue
		}
		id := m[1] + m[2]
		if seen[id] {
			t.Errorf("%s has two rows", id)
		}
		seen[id] = true
		count[m[1]]++
		checkTick(t, id, m[4] == "x", testPattern.FindAllStringSubmatch(m[5], -1), tests)
	}
	for letter, want := range rows {
		if count[letter] != want {
			t.Errorf("%d rows with the letter %s, want %d", count[letter], letter, want)
		}
	}
}

// checkTick holds one row to the tree: ticked with tests that exist, or open without any.
func checkTick(t *testing.T, id string, ticked bool, named [][]string, tests map[string]bool) {
	t.Helper()
	if ticked != (len(named) > 0) {
		t.Errorf("%s: ticked is %v, but it names %d tests", id, ticked, len(named))
	}
	for _, n := range named {
		if !tests[n[1]+"."+n[2]] {
			t.Errorf("%s names %s.%s, which does not exist", id, n[1], n[2])
		}
	}
}
