package sanitize

import (
	"bytes"
	"testing"
)

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                         "plain",
		"größer 日本":                     "größer 日本",
		"a\x1b[2Jb":                     "a·[2Jb",
		"\x1b]0;title\a":                "·]0;title·",
		"two\nlines\tand a tab":         "two⏎lines·and a tab",
		"\u009b31m":                     "·31m", // the C1 form of an escape
		"evil\u202etxt.exe":             "evil·txt.exe",
		"\x7f":                          "·",
		"broken \xff":                   "broken ·",
		"non-breaking\u00a0space":       "non-breaking·space",
		"zero\u200bwidth":               "zero·width",
		"a letter and its ac\u0301cent": "a letter and its ac\u0301cent",
	} {
		if got := Line(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := Lines("a\n\tb\r\x1b"); got != "a\n\tb··" {
		t.Errorf("lines: %q", got)
	}
}

func TestWriterPutsCharactersTogether(t *testing.T) {
	text := "größer 日本 \x1b[31m\n\tx\u009b"
	for size := 1; size < 6; size++ {
		var out bytes.Buffer
		w := &Writer{To: &out}
		for rest := []byte(text); len(rest) > 0; rest = rest[min(size, len(rest)):] {
			part := rest[:min(size, len(rest))]
			if n, err := w.Write(part); n != len(part) || err != nil {
				t.Fatalf("%d, %v", n, err)
			}
		}
		if out.String() != "größer 日本 ·[31m\n\tx·" {
			t.Errorf("in pieces of %d: %q", size, out.String())
		}
	}
}
