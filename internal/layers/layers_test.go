package layers

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/shardcat/shardcat/"

// order is the house from the top floor down; a package imports only from floors below its own, or its own.
var order = []string{"cmd", "compaction", "catalog", "manifest", "shardfmt", "blobio", "urlresolve"}

// forbidden are outside dependencies that a floor must not link, not even through others.
var forbidden = map[string][]string{
	"shardfmt":   {"github.com/apache/iceberg-go", "github.com/aws/", "github.com/Azure/", "cloud.google.com/", "gocloud.dev"},
	"urlresolve": {"net/http", "gocloud.dev"},
	"compaction": {"github.com/spf13/cobra"},
	"manifest":   {"github.com/spf13/cobra"},
	"catalog":    {"github.com/spf13/cobra"},
}

type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
	CgoFiles   []string
	Standard   bool
}

func list(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,Deps,CgoFiles,Standard", module+"...").Output()
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
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// floor is the place of a package in order, -1 if it has none (internal, testdata).
func floor(path string) int {
	top, _, _ := strings.Cut(strings.TrimPrefix(path, module), "/")
	for i, name := range order {
		if name == top {
			return i
		}
	}
	return -1
}

func TestImportsRunDownwards(t *testing.T) {
	pkgs := list(t)
	if len(pkgs) < 5 {
		t.Fatalf("go list found %d packages only", len(pkgs))
	}
	for _, p := range pkgs {
		own := floor(p.ImportPath)
		for _, imp := range p.Imports {
			if !strings.HasPrefix(imp, module) {
				continue
			}
			if f := floor(imp); own >= 0 && f >= 0 && f < own {
				t.Errorf("%s imports %s, which lies above it", p.ImportPath, imp)
			}
		}
	}
}

// An internal package may use any floor, but then only floors above those may use it.
func TestInternalPackagesOpenNoWayUp(t *testing.T) {
	for _, p := range list(t) {
		own := floor(p.ImportPath)
		if own < 0 {
			continue
		}
		for _, dep := range p.Deps {
			if f := floor(dep); strings.HasPrefix(dep, module) && f >= 0 && f < own {
				t.Errorf("%s reaches %s, which lies above it", p.ImportPath, dep)
			}
		}
	}
}

func TestFloorsLinkNothingForeign(t *testing.T) {
	for _, p := range list(t) {
		own := floor(p.ImportPath)
		if own < 0 {
			continue
		}
		for _, bad := range forbidden[order[own]] {
			for _, dep := range p.Deps {
				if strings.HasPrefix(dep, bad) {
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
