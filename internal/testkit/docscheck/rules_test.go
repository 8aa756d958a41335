package docscheck

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	testName   = regexp.MustCompile("`(Test[A-Za-z0-9]+)(?:/[^`]*)?`")
	rulesTable = regexp.MustCompile(`(?m)^\| rule \| test`)
)

// TestRulesNameTheirTests: the pages of designs on which the safety of data rests have a table of rules, each of which names a test; and a test
// that any page of designs names is there.
func TestRulesNameTheirTests(t *testing.T) {
	known := map[string]bool{}
	for test := range testsInTree(t) {
		known[test[strings.LastIndexByte(test, '.')+1:]] = true
	}
	pages, err := filepath.Glob("../../../docs/design/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	rules := map[string]int{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		page = filepath.Base(page)
		for _, m := range testName.FindAllStringSubmatch(string(text), -1) {
			if !known[m[1]] {
				t.Errorf("%s: there is no test %s", page, m[1])
			}
		}
		at := rulesTable.FindIndex(text)
		if at == nil {
			continue
		}
		for i, row := range strings.Split(string(text[at[0]:]), "\n") {
			if !strings.HasPrefix(row, "|") {
				break
			}
			if i < 2 { // the head
				continue
			}
			rules[page]++
			if !testName.MatchString(row) {
				t.Errorf("%s: no test is named for the rule: %s", page, row)
			}
		}
	}
	for _, page := range []string{"collection.md", "commit.md", "compaction.md", "faults.md"} {
		if rules[page] < 10 {
			t.Errorf("%s has %d rules with tests", page, rules[page])
		}
	}
}
