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

var (
	markdownLink   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	markdownFence  = regexp.MustCompile("(?s)```.*?```")
	markdownHead   = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	notInAnchor    = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
	urlScheme      = regexp.MustCompile(`^[a-z]+:`)
	namedPage      = regexp.MustCompile(`\bdocs/[a-z0-9/_-]+\.(?:md|txt|fbs|proto)\b(?:#[a-z0-9_-]+)?`)
	textExtensions = map[string]bool{".go": true, ".md": true, ".py": true, ".yml": true, ".yaml": true, ".json": true, ".service": true, ".example": true, "": true}
)

// anchors returns the anchors of a page's headings, as GitHub makes them.
func anchors(page string) map[string]bool {
	known := map[string]bool{}
	for _, m := range markdownHead.FindAllStringSubmatch(markdownFence.ReplaceAllString(page, ""), -1) {
		known[strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return known
}

// TestLinksResolve opens the target of every relative link of every page, and of every page of docs/ that a file of the tree names.
func TestLinksResolve(t *testing.T) {
	tree := os.DirFS("../../..")
	links := 0
	check := func(from, base, target string) {
		links++
		file, anchor, _ := strings.Cut(target, "#")
		to := from
		if file != "" {
			to = path.Join(base, file)
		}
		if _, err := fs.Stat(tree, to); err != nil {
			t.Errorf("%s: broken link: %s", from, target)
			return
		}
		if anchor == "" || path.Ext(to) != ".md" {
			return
		}
		page, err := fs.ReadFile(tree, to)
		if err != nil {
			t.Fatal(err)
		}
		if !anchors(string(page))[anchor] {
			t.Errorf("%s: no heading for the anchor: %s", from, target)
		}
	}
	err := fs.WalkDir(tree, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if n := d.Name(); n == ".git" || n == "testdata" || n == "node_modules" || n == ".venv" {
				return filepath.SkipDir
			}
			return nil
		}
		if !textExtensions[path.Ext(p)] || strings.HasPrefix(p, "docs/format/vectors/") && path.Ext(p) == ".json" {
			return nil
		}
		if info, err := d.Info(); err != nil || info.Size() > 1<<20 {
			return err
		}
		content, err := fs.ReadFile(tree, p)
		if err != nil {
			return err
		}
		for _, named := range namedPage.FindAllString(string(content), -1) {
			check(p, ".", named)
		}
		// The fragments of bench/results.md have its links.
		if path.Ext(p) != ".md" || strings.HasPrefix(p, "bench/performance/page/") || strings.HasPrefix(p, "bench/performance/summary/") {
			return nil
		}
		for _, m := range markdownLink.FindAllStringSubmatch(markdownFence.ReplaceAllString(string(content), ""), -1) {
			if !urlScheme.MatchString(m[1]) {
				check(p, path.Dir(p), m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if links < 200 {
		t.Errorf("%d links found: the patterns miss", links)
	}
}
