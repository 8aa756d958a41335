package conformance

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// caseName is the name of a case in a table of a page.
var caseName = regexp.MustCompile("`([a-z0-9-]+)`")

// Every damaged shard is a case of a rule on the pages, and every case that a rule names is in the kit.
func TestRulesHaveCases(t *testing.T) {
	pages, err := filepath.Glob("../../../docs/format/*.md")
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{}
	for _, c := range kit(t).Cases {
		cases[c.Name] = c.Answer
	}
	onPage := map[string]bool{}
	rules := 0
	for _, page := range pages {
		if filepath.Base(page) == "conformance.md" {
			continue // it describes the kit
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		column := 0
		for line := range strings.Lines(string(text)) {
			for _, m := range caseName.FindAllStringSubmatch(line, -1) {
				onPage[m[1]] = true
			}
			cells := strings.Split(strings.TrimSpace(line), "|")
			switch {
			case !strings.HasPrefix(line, "|"):
				column = 0
			case strings.TrimSpace(cells[len(cells)-2]) == "cases":
				column = len(cells) - 2
			case column > 0 && len(cells) > column:
				rules++
				for _, m := range caseName.FindAllStringSubmatch(cells[column], -1) {
					if _, there := cases[m[1]]; !there {
						t.Errorf("%s: no case %s in the kit", filepath.Base(page), m[1])
					}
				}
			}
		}
	}
	for name, class := range cases {
		if class != "" && !onPage[name] {
			t.Errorf("no rule on the pages names the case %s (%s)", name, class)
		}
	}
	if rules < 50 {
		t.Errorf("%d rules with cases", rules)
	}
}
