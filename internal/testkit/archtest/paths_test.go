package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCallPaths: each function of docs/internals/call-paths.md is in its file, and each path passes the packages downwards: no package is
// entered twice, and none imports one that comes before it.
func TestCallPaths(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(repository, "docs/internals/call-paths.md"))
	if err != nil {
		t.Fatal(err)
	}
	deps := map[string][]string{}
	for _, p := range list(t) {
		within, _ := inModule(p.ImportPath)
		deps[within] = p.Deps
	}
	step := regexp.MustCompile("^\\| `([^`]+\\.go)` \\| `([^`]+)` \\|")
	steps := 0
	for section := range strings.SplitSeq(string(page), "\n## ") {
		title, _, _ := strings.Cut(section, "\n")
		var passed []string
		for line := range strings.SplitSeq(section, "\n") {
			m := step.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			steps++
			if !declares(t, m[1], m[2]) {
				t.Errorf("%s: %s has no function %s", title, m[1], m[2])
			}
			folder := path.Dir(m[1])
			if len(passed) > 0 && passed[len(passed)-1] == folder {
				continue
			}
			if slices.Contains(passed, folder) {
				t.Errorf("%s: %s is entered again at %s", title, folder, m[2])
			}
			for _, before := range passed {
				if slices.Contains(deps[folder], module+before) {
					t.Errorf("%s: %s is above %s, which was passed before", title, folder, before)
				}
			}
			passed = append(passed, folder)
		}
	}
	if steps < 30 {
		t.Errorf("only %d steps were found", steps)
	}
}

// declares reports whether a file of the repository declares a function, with its receiver's type before a dot if it is a method.
func declares(t *testing.T, file, name string) bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(repository, file), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(parsed.Decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			return false
		}
		if f.Recv == nil {
			return f.Name.Name == name
		}
		receiver := f.Recv.List[0].Type
		if pointer, ok := receiver.(*ast.StarExpr); ok {
			receiver = pointer.X
		}
		typ, ok := receiver.(*ast.Ident)
		return ok && typ.Name+"."+f.Name.Name == name
	})
}
