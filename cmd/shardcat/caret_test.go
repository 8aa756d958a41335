package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/filter"
)

// TestCaret: the caret is below the character at which a filter is wrong, whatever stands before it.
func TestCaret(t *testing.T) {
	long := "a = 1 AND " + strings.Repeat("größe = 'übel' AND ", 40)
	for text, want := range map[string]string{
		"a = 1 b":           "  a = 1 b\n        ^\n",
		"":                  "  \n  ^\n",
		"größe = 'x' größe": "  größe = 'x' größe\n              ^\n",
		"a = 1\n\tb":        "  a = 1  b\n         ^\n",
		"a = \x1b[2J":       "  a = ·[2J\n      ^\n",
		long:                "", // its end is wrong, and its begin is left out
	} {
		_, err := filter.Parse(text)
		var syntax *filter.SyntaxError
		if !errors.As(err, &syntax) {
			t.Fatalf("%q: %v", text, err)
		}
		got := caret(syntax)
		if text == long { // the end of the text is what is wrong
			lines := strings.Split(got, "\n")
			if len([]rune(lines[0])) != 2+3+caretContext || len(lines[1]) != 2+3+caretContext+1 || !strings.HasSuffix(lines[1], " ^") {
				t.Errorf("%q", got)
			}
			continue
		}
		if got != want {
			t.Errorf("%q: got\n%swant\n%s", text, got, want)
		}
	}
}
