// Package sanitize keeps text that others chose (names, values, messages of stores) from steering a terminal.
//
// A terminal takes orders from control characters: move the cursor, set the title, answer as if typed. And the
// marks that turn the direction of writing make a name look like another. Neither is ever needed in a name.
package sanitize

import (
	"io"
	"unicode"
	"unicode/utf8"
)

// Stand-ins for what is not shown.
const (
	newline     = '⏎'
	replacement = '·'
)

// Line is s on one line: newlines and all that is not printable have stand-ins.
func Line(s string) string { return clean(s, false) }

// Lines is Line that leaves newlines and tabs.
func Lines(s string) string { return clean(s, true) }

func clean(s string, lines bool) string {
	if isClean(s, lines) {
		return s
	}
	out := make([]byte, 0, len(s))
	for _, r := range s {
		out = utf8.AppendRune(out, shown(r, lines))
	}
	return string(out)
}

func isClean(s string, lines bool) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= utf8.RuneSelf || c < ' ' && !(lines && (c == '\n' || c == '\t')) || c == 0x7f {
			return allShown(s[i:], lines)
		}
	}
	return true
}

func allShown(s string, lines bool) bool {
	for _, r := range s {
		if shown(r, lines) != r || r == utf8.RuneError {
			return false
		}
	}
	return true
}

// shown is the character that stands for r.
func shown(r rune, lines bool) rune {
	switch {
	case r == '\n' && !lines:
		return newline
	case r == '\n', r == '\t' && lines:
		return r
	case r == utf8.RuneError, !unicode.IsPrint(r):
		return replacement
	}
	return r
}

// Writer passes text on to a terminal with Lines applied. A character that is cut between two writes is put
// together; the rest of one at the end is lost.
type Writer struct {
	To io.Writer
	// cut is the beginning of a character that the last write ended in.
	cut []byte
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	text := append(w.cut, p...)
	whole := len(text)
	for back := 1; back <= min(utf8.UTFMax-1, len(text)); back++ {
		if c := text[len(text)-back]; utf8.RuneStart(c) {
			if !utf8.FullRune(text[len(text)-back:]) {
				whole -= back
			}
			break
		}
	}
	_, err := io.WriteString(w.To, Lines(string(text[:whole])))
	w.cut = append(w.cut[:0:0], text[whole:]...)
	if err != nil {
		return 0, err
	}
	return len(p), nil
}
