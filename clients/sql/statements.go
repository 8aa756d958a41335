package shardsql

import "strings"

// Statements cuts a text at the semicolons that stand in no quotes and no comment. rest is what follows the last, "" if
// that is blank.
func Statements(text string) (statements []string, rest string) {
	from := 0
	for at := 0; at < len(text); {
		switch {
		case text[at] == ';':
			if s := strings.TrimSpace(text[from:at]); s != "" {
				statements = append(statements, s)
			}
			at++
			from = at
		case text[at] == '\'' || text[at] == '"':
			at = behind(text, at+1, text[at:at+1])
		case strings.HasPrefix(text[at:], "--"):
			at = behind(text, at, "\n")
		case strings.HasPrefix(text[at:], "/*"):
			at = behind(text, at+2, "*/")
		case text[at] == '$':
			at = dollar(text, at)
		default:
			at++
		}
	}
	return statements, strings.TrimSpace(text[from:])
}

// behind is the place behind the next occurrence of an end, or that of the text.
func behind(text string, at int, end string) int {
	if i := strings.Index(text[at:], end); i >= 0 {
		return at + i + len(end)
	}
	return len(text)
}

// dollar is the place behind a text in dollars, $$ or $tag$, or behind what is none.
func dollar(text string, at int) int {
	tag := strings.IndexByte(text[at+1:], '$')
	if tag < 0 || strings.ContainsAny(text[at+1:at+1+tag], " \t\r\n,;()'\"") {
		return at + 1
	}
	return behind(text, at+tag+2, text[at:at+tag+2])
}
