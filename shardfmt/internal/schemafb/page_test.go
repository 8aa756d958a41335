package schemafb

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of schema.md anew")

const (
	source = "../../../docs/format/schema.fbs"
	page   = "../../../docs/format/schema.md"
	begin  = "<!-- slots: from schema.fbs, by go test ./shardfmt/internal/schemafb -update -->\n"
	end    = "<!-- /slots -->\n"
)

var (
	declaration = regexp.MustCompile(`(?s)(table|enum) (\w+)(?: : \w+)? \{(.*?)\n\}`)
	comment     = regexp.MustCompile(`(?m)^\s*//.*\n`)
	slot        = regexp.MustCompile(`(\w+): (\[?\w+\]?)( \(required\))?;`)
	member      = regexp.MustCompile(`(\w+) = (\d+),`)
)

// tableOf is the rows of the tables and enums of schema.fbs.
func tableOf(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| table | slots |\n|---|---|\n")
	for _, d := range declaration.FindAllStringSubmatch(comment.ReplaceAllString(string(text), ""), -1) {
		var parts []string
		if d[1] == "enum" {
			for _, m := range member.FindAllStringSubmatch(d[3], -1) {
				parts = append(parts, m[2]+" "+m[1])
			}
			fmt.Fprintf(&b, "| %s (enum, one byte) | %s |\n", d[2], strings.Join(parts, " · "))
			continue
		}
		for i, m := range slot.FindAllStringSubmatch(d[3], -1) {
			part := fmt.Sprintf("%d %s *%s*", i, m[1], m[2])
			if m[3] != "" {
				part += " ¹"
			}
			parts = append(parts, part)
		}
		fmt.Fprintf(&b, "| %s | %s |\n", d[2], strings.Join(parts, " · "))
	}
	return b.String()
}

// The page has every slot of every table, with its number and type.
func TestPageHasAllSlots(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	table, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table of slots", page)
	}
	want := tableOf(t)
	if n := strings.Count(want, "\n"); n != 12 {
		t.Fatalf("%d rows of %s, want 2 of the head, 2 enums and 8 tables", n, source)
	}
	if *update {
		if err := os.WriteFile(page, []byte(head+begin+want+end+tail), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table != want {
		t.Errorf("the table of slots in %s is not that of %s: go test ./shardfmt/internal/schemafb -update", page, source)
	}
}
