package view

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// row is a line of the table of docs/design/unsafe.md: | file | lines with unsafe | what bounds them |.
var row = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (\\d+) \\| (.+) \\|$")

// Each file that uses package unsafe, tests and generated code of protobuf aside, is listed with as many uses as it has, and what bounds them.
func TestUsesOfUnsafeAreListed(t *testing.T) {
	const root, page = "../..", "docs/design/unsafe.md"
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]int{}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil || len(m[3]) < 20 {
			t.Errorf("%s: %q", page, m[0])
		}
		listed[m[1]] = n
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "testdata" {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, ".pb.go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(src), "\n\t\"unsafe\"\n") && !strings.Contains(string(src), "import \"unsafe\"") && !strings.Contains(string(src), "import _ \"unsafe\"") && !strings.Contains(string(src), "\n\t_ \"unsafe\"") {
			return err
		}
		n := 0
		for line := range strings.Lines(string(src)) {
			if strings.Contains(line, "unsafe.") && !strings.HasPrefix(strings.TrimSpace(line), "//") {
				n++
			}
		}
		if listed[name] != n {
			t.Errorf("%s: %d lines with unsafe, %s has %s", name, n, page, fmt.Sprint(listed[name]))
		}
		if _, ok := listed[name]; !ok {
			t.Errorf("%s is not in %s", name, page)
		}
		delete(listed, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range listed {
		t.Errorf("%s lists %s, which uses no unsafe", page, name)
	}
}
