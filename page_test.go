package shardcat_test

import (
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/shardcat/shardcat"
)

// TestPackagePage: each method of Table that the package page lists exists.
func TestPackagePage(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "shardcat.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	page, table := file.Doc.Text(), reflect.TypeFor[*shardcat.Table]()
	named := regexp.MustCompile(`\bTable\.([A-Z]\w*)`).FindAllStringSubmatch(page, -1)
	for line := range strings.Lines(section(page, "# Methods of a Table")) {
		group, _, _ := strings.Cut(strings.TrimPrefix(line, "\t"), "Compact of")
		if group, _, _ = strings.Cut(group, "At in"); strings.HasPrefix(line, "\t") {
			named = append(named, regexp.MustCompile(`\b([A-Z]\w+)`).FindAllStringSubmatch(group, -1)...)
		}
	}
	if len(named) < 40 {
		t.Fatalf("only %d methods are named", len(named))
	}
	for _, m := range named {
		name := m[len(m)-1]
		if _, ok := table.MethodByName(name); !ok {
			t.Errorf("the package page names Table.%s, which does not exist", name)
		}
	}
}

// section of a page below a heading, up to the next one.
func section(page, heading string) string {
	_, rest, _ := strings.Cut(page, heading+"\n")
	rest, _, _ = strings.Cut(rest, "\n# ")
	return rest
}
