package filter

import (
	"errors"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// TestCaret: the caret is below the character at which a filter is wrong, whatever is before it.
func TestCaret(t *testing.T) {
	long := "a = 1 AND " + strings.Repeat("größe = 'übel' AND ", 40)
	for text, want := range map[string]string{
		"a = 1 b":           "a = 1 b\n      ^",
		"":                  "\n^",
		"größe = 'x' größe": "größe = 'x' größe\n            ^",
		"a = 1\n\tb":        "a = 1  b\n       ^",
		"a = \x1b[2J":       "a = ·[2J\n    ^",
		long:                "", // its end is wrong, and its begin is left out
	} {
		_, err := Parse(text)
		got := Caret("another filter", err)
		if text == long {
			lines := strings.Split(got, "\n")
			if len([]rune(lines[0])) != 3+caretContext || len(lines[1]) != 3+caretContext+1 || !strings.HasSuffix(lines[1], " ^") {
				t.Errorf("%q", got)
			}
			continue
		}
		if got != want {
			t.Errorf("%q: got\n%s\nwant\n%s", text, got, want)
		}
	}
}

// TestCaretOfBind: the caret is below the unknown name, or below the literal that its column can't be compared with.
func TestCaretOfBind(t *testing.T) {
	s, err := schema.Parse(`a: Int64, b: Boolean, s: Struct<x: Int64, y: String>, "the c": String, l: List<Int64>`)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{ // ^ stands before the character
		"^z = 1":                          "",
		"a = 1 AND ^z = 1":                "",
		"a = 1 AND (b OR NOT ^z)":         "",
		"a IN (1, 2) AND s.^q IS NULL":    "",
		"s.x = 1 OR a.^x = 2":             "",
		`"the c" = 'a' AND ^"a b" = 1`:    "",
		"'z' = \"the c\" AND ^z = 'z'":    "",
		"a = 'z' OR ^z = 1":               "a = ^'z' OR z = 1", // the first error counts
		"a = 1 AND a = ^'1x'":             "",
		"a = 1 AND a BETWEEN 1 AND ^'2x'": "",
		"a IN (1, 2, ^guid 'q')":          "a IN (1, 2, guid ^'q')",
		"^'q' < a":                        "",
		"a < 1 OR b = ^5":                 "",
		"^a":                              "", // no Boolean
		"a = 1 AND a LIKE ^'x%'":          "",
		"s.y = 'x' AND s.x = ^'x'":        "",
		"a = 1 OR l = ^1":                 "",
		"s.x = 1 AND ^x = 1":              "",
		"a = ^true":                       "",
	} {
		if want == "" {
			want = text
		}
		text = strings.Replace(text, "^", "", 1)
		at := strings.Index(want, "^")
		e, err := Parse(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		_, err = Bind(e, s)
		if err == nil {
			t.Errorf("%q: bound", text)
			continue
		}
		if got := Caret(text, err); got != text+"\n"+strings.Repeat(" ", at)+"^" {
			t.Errorf("%v: got\n%s\nwant the caret at %d", err, got, at)
		}
		if got := Caret("unrelated", err); got != "" {
			t.Errorf("%v: a caret in another text: %s", err, got)
		}
	}
	if got := Caret("a = 1", errors.New("another error")); got != "" {
		t.Error(got)
	}
}
