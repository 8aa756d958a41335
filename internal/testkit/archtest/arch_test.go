package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/shardcat/shardcat/"

// order lists the top-level folders: a package imports only from those behind its own folder, or from its own.
var order = []string{"cmd", "", "compaction", "catalog", "manifest", "shardfmt", "blobio", "urlresolve", "testdata"}

// forbidden are dependencies that a folder must not link, not even through others.
var forbidden = map[string][]string{
	"shardfmt":   {"github.com/apache/iceberg-go", "github.com/aws/", "github.com/Azure/", "cloud.google.com/", "gocloud.dev"},
	"urlresolve": {"net/http", "gocloud.dev"},
	"compaction": {"github.com/spf13/cobra"},
	"manifest":   {"github.com/spf13/cobra"},
	"catalog":    {"github.com/spf13/cobra"},
}

// internals are the packages that several top-level folders share; each knows nothing of shards, tables or stores. A
// package that one folder uses belongs to the internal of that folder.
var internals = []string{
	"access", "apierror", "bufpool", "decimal", "didyoumean", "etags", "extsort", "fairqueue", "halffloat", "httptransport", "icebergaccess",
	"literal", "nocache", "parallel", "plural", "progress", "ranges", "rowhash", "sanitize", "view",
}

type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
	CgoFiles   []string
}

func list(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,Deps,CgoFiles", module+"...").Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Fatalf("go list: %s", exit.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	var pkgs []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
	if len(pkgs) < 100 {
		t.Fatalf("go list found %d packages only", len(pkgs))
	}
	return pkgs
}

// inModule is the path of a package within the module; ok is false for one from elsewhere.
func inModule(path string) (within string, ok bool) {
	if path+"/" == module {
		return "", true
	}
	return strings.CutPrefix(path, module)
}

// level is the place of a package in order; internal is true for the packages that all folders share.
func level(t *testing.T, path string) (n int, internal bool) {
	t.Helper()
	within, _ := inModule(path)
	top, rest, _ := strings.Cut(within, "/")
	if top == "internal" {
		return len(order), rest != "testkit" && !strings.HasPrefix(rest, "testkit/")
	}
	if n = slices.Index(order, top); n < 0 {
		t.Errorf("%s lies in no folder that the order knows", path)
	}
	return n, false
}

// isTestKit reports whether only tests link a package, which may use anything.
func isTestKit(path string) bool {
	return strings.Contains(path, "/testkit/") || path == module+"blobio/blobtest"
}

// TestImportsRunDownwards: for every package, also through the packages that it imports.
func TestImportsRunDownwards(t *testing.T) {
	for _, p := range list(t) {
		if isTestKit(p.ImportPath) {
			continue
		}
		own, shared := level(t, p.ImportPath)
		for _, dep := range p.Deps {
			within, ok := inModule(dep)
			if !ok {
				continue
			}
			at, internal := level(t, dep)
			switch {
			case isTestKit(dep):
				t.Errorf("%s links %s, which is for tests", p.ImportPath, dep)
			case shared && !internal && within != "urlresolve":
				t.Errorf("%s links %s: what all folders share may link urlresolve alone", p.ImportPath, dep)
			case at < own:
				t.Errorf("%s links %s, which lies above it", p.ImportPath, dep)
			}
		}
	}
}

// TestSharedPackages: each of them is listed, and used.
func TestSharedPackages(t *testing.T) {
	users, seen := map[string][]string{}, []string{}
	pkgs := list(t)
	for _, p := range pkgs {
		within, _ := inModule(p.ImportPath)
		top, _, _ := strings.Cut(within, "/")
		for _, dep := range p.Imports {
			if name, ok := strings.CutPrefix(dep, module+"internal/"); ok && !slices.Contains(users[name], top) {
				users[name] = append(users[name], top)
			}
		}
		if name, ok := strings.CutPrefix(within, "internal/"); ok && !strings.HasPrefix(name, "testkit/") {
			seen = append(seen, name)
		}
	}
	slices.Sort(seen)
	if !slices.Equal(seen, internals) {
		t.Errorf("internal holds %q, the list says %q", seen, internals)
	}
	for _, name := range seen {
		if len(users[name]) == 0 {
			t.Errorf("nothing uses internal/%s", name)
		}
	}
}

func TestFoldersLinkNothingForeign(t *testing.T) {
	for _, p := range list(t) {
		within, _ := inModule(p.ImportPath)
		top, _, _ := strings.Cut(within, "/")
		for _, bad := range forbidden[top] {
			for _, dep := range p.Deps {
				if strings.HasPrefix(dep, bad) && !isTestKit(p.ImportPath) {
					t.Errorf("%s links %s", p.ImportPath, dep)
				}
			}
		}
	}
}

func TestRootModuleHasNoCgo(t *testing.T) {
	for _, p := range list(t) {
		if len(p.CgoFiles) > 0 {
			t.Errorf("%s uses cgo", p.ImportPath)
		}
	}
}
