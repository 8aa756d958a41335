package docscheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	codeSpan   = regexp.MustCompile("`([^`]+)`")
	formatVerb = regexp.MustCompile(`%[-+# 0-9.]*[a-zA-Z]`)
)

// literals calls f with each string of the program, and with its file. Constant concatenations count as one string.
func literals(t *testing.T, f func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "testkit" || d.Name() == "bench" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go"), strings.HasSuffix(path, "_test.go"), strings.HasSuffix(path, ".pb.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok {
				if text, ok := constant(e); ok {
					f(path, text)
					return false
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// constant returns the string that literals joined by + make.
func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.BinaryExpr:
		left, ok := constant(e.X)
		right, also := constant(e.Y)
		return left + right, ok && also && e.Op == token.ADD
	}
	return "", false
}

// messagesOf are the messages in the first columns of the tables of a page below the heading from.
func messagesOf(t *testing.T, page, from string) (found []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "\n"+from+"\n")
	if !ok {
		t.Fatalf("%s has no heading %q", page, from)
	}
	for line := range strings.Lines(rest) {
		if cells := strings.Split(line, " | "); strings.HasPrefix(line, "| `") {
			for _, m := range codeSpan.FindAllStringSubmatch(cells[0], -1) {
				found = append(found, m[1])
			}
		}
	}
	return found
}

// inOneText reports whether the parts of a message, which "…" separates, occur in a text in their order.
func inOneText(message, text string) bool {
	for part := range strings.SplitSeq(message, "…") {
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return true
}

// TestErrorsPage compares docs/reference/errors.md with the program: every message of the page is in a string of the program, and the
// text of every exported error class of the Go API is on the page.
func TestErrorsPage(t *testing.T) {
	page := "../../../docs/reference/errors.md"
	messages := messagesOf(t, page, "## Command line and configuration")
	if len(messages) < 50 {
		t.Fatalf("only %d messages on the page", len(messages))
	}
	missing := map[string]bool{}
	for _, m := range messages {
		missing[m] = true
	}
	literals(t, func(_, text string) {
		text = formatVerb.ReplaceAllString(text, "…")
		for m := range missing {
			if inOneText(m, text) {
				delete(missing, m)
			}
		}
	})
	for m := range missing {
		t.Errorf("docs/reference/errors.md: no string of the program has the message %q", m)
	}

	class := regexp.MustCompile(`(?m)^(?:var )?\t?Err[A-Z]\w* += errors\.New\((".*")\)`)
	classes, text := 0, strings.Join(messages, "\n")
	for _, root := range []string{"blobio", "catalog", "compaction", "manifest", "shardfmt", "urlresolve", "internal/apierror", "catalog/internal/caterr"} {
		folder := filepath.Join("../../..", root)
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				strings.Contains(strings.TrimPrefix(path, folder), "/internal/") || strings.Contains(path, "/temporal/") {
				return err
			}
			source, err := os.ReadFile(path)
			for _, m := range class.FindAllStringSubmatch(string(source), -1) {
				message, unquoteErr := strconv.Unquote(m[1])
				classes++
				if unquoteErr != nil || !internalClasses[message] && !strings.Contains(text, message) {
					t.Errorf("%s: docs/reference/errors.md lacks the error class %s", path, m[1])
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if classes < 45 {
		t.Errorf("only %d error classes were found", classes)
	}
}

// internalClasses are classes of which users see only the rest of the message.
var internalClasses = map[string]bool{
	"column":         true, // names the column behind it
	"canceled":       true, // by a signal
	"already closed": true, // of a value in Go
}

// TestHTTPPage compares the routes of the service with docs/reference/http.md, both ways. Those of /v1/ are compared by
// TestOpenAPIIsWhatIsServed.
func TestHTTPPage(t *testing.T) {
	pattern := regexp.MustCompile(`\.Handle(?:Func)?\("((?:GET|POST|DELETE) /[^"]*)"`)
	source, err := os.ReadFile("../../../cmd/shardcat/internal/webui/console.go")
	if err != nil {
		t.Fatal(err)
	}
	page := map[string]bool{}
	for _, m := range messagesOf(t, "../../../docs/reference/http.md", "## The service") {
		page[m] = true
	}
	served := 0
	for _, m := range pattern.FindAllStringSubmatch(string(source), -1) {
		served++
		route := strings.TrimSuffix(m[1], "{$}")
		if !page[route] {
			t.Errorf("docs/reference/http.md lacks %s", route)
		}
		delete(page, route)
	}
	for route := range page {
		if route != "/iceberg" && route != "/shardcat-tables" { // package gateway
			t.Errorf("docs/reference/http.md names %s, which the service does not have", route)
		}
	}
	if served < 12 {
		t.Errorf("only %d routes were found", served)
	}
}
