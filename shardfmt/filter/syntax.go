package filter

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/shardcat/shardcat/internal/sanitize"
)

// SyntaxError is the error of a text that is not an expression.
type SyntaxError struct {
	// textExpr is the whole text, and Offset the byte of it at which the error lies, from 0 to len(Text).
	Text   string
	Offset int
	reason string
}

func (e *SyntaxError) Error() string { return "filter: " + e.reason }

func badSyntax(offset int, format string, args ...any) error {
	return &SyntaxError{Offset: offset, reason: fmt.Sprintf(format, args...)}
}

// BindError is the error of an expression that does not fit a schema: an unknown column, or a value that its column can't be
// compared with.
type BindError struct {
	// Field is the column as the expression names it.
	Field Path
	// member is the index in Field of the unknown name; literal is the value that does not fit, nil for none.
	member  int
	literal *Literal
	err     error
}

func (e *BindError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *BindError) Unwrap() error { return e.err }

// caretContext is the number of characters of a filter that Caret shows on each side of an error in it.
const caretContext = 60

// Caret returns where an error of Parse or Bind lies in the text of a filter: the text around it, and below it a line with a caret.
// It returns "" for other errors.
func Caret(text string, err error) string {
	var syntax *SyntaxError
	var bind *BindError
	switch {
	case errors.As(err, &syntax):
		return caretAt(syntax.Text, syntax.Offset)
	case errors.As(err, &bind):
		if offset := bind.offset(text); offset >= 0 {
			return caretAt(text, offset)
		}
	}
	return ""
}

func caretAt(text string, offset int) string {
	shown := func(s string) []rune { return []rune(sanitize.Line(strings.Map(oneSpace, s))) }
	before, after := shown(text[:offset]), shown(text[offset:])
	if len(before) > caretContext {
		before = append([]rune("..."), before[len(before)-caretContext:]...)
	}
	if len(after) > caretContext {
		after = append(after[:caretContext:caretContext], []rune("...")...)
	}
	return fmt.Sprintf("%s%s\n%*s", string(before), string(after), len(before)+1, "^")
}

// oneSpace replaces line breaks and tabs.
func oneSpace(r rune) rune {
	if unicode.IsSpace(r) {
		return ' '
	}
	return r
}

// offset returns where the error lies in the text that the expression was parsed from, -1 if the text is another one: the literal
// that does not fit, else the first use of the column.
func (e *BindError) offset(text string) int {
	tokens, err := lex(text)
	if err != nil {
		return -1
	}
	first := -1
	for i := range tokens {
		if !e.usedAt(tokens, i) {
			continue
		}
		if e.literal == nil {
			return tokens[i+2*e.member].at
		}
		if at := e.literalAt(tokens, i); at >= 0 {
			return at
		}
		if first < 0 {
			first = tokens[i].at
		}
	}
	return first
}

// usedAt reports whether the tokens from i on are the path of the column.
func (e *BindError) usedAt(tokens []token, i int) bool {
	for k, name := range e.Field {
		at := i + 2*k
		if at >= len(tokens) || !tokens[at].isField() || tokens[at].text != name || k > 0 && tokens[at-1].text != "." {
			return false
		}
	}
	end := i + 2*len(e.Field) - 1
	return (i == 0 || tokens[i-1].text != "." || tokens[i-1].kind != symbolToken) && (end >= len(tokens) || tokens[end].text != "." || tokens[end].kind != symbolToken)
}

// literalAt returns where the literal is that is compared with the column at token i: before it, or behind it and before the next
// column. It is -1 if the column is compared with others.
func (e *BindError) literalAt(tokens []token, i int) int {
	if i >= 2 && tokens[i-1].kind == symbolToken && e.isLiteral(tokens[i-2]) {
		return tokens[i-2].at
	}
	for j := i + 2*len(e.Field) - 1; j < len(tokens) && !(tokens[j].isField() && tokens[j+1].kind != stringToken); j++ {
		if e.isLiteral(tokens[j]) {
			return tokens[j].at
		}
	}
	return -1
}

func (e *BindError) isLiteral(t token) bool {
	switch e.literal.kind {
	case boolLiteral:
		return t.is(e.literal.text)
	case numberLiteral:
		return t.kind == numberToken && t.text == e.literal.text
	}
	return t.kind == stringToken && t.text == e.literal.text
}

// isField reports whether the token can name a column.
func (t token) isField() bool {
	return t.kind == quotedToken || t.kind == nameToken && !reserved[strings.ToUpper(t.text)]
}
