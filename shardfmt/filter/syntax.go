package filter

import "fmt"

// SyntaxError is the error of a text that is not an expression.
type SyntaxError struct {
	// Text is the whole text, and Offset the byte of it at which the error lies, from 0 to len(Text).
	Text   string
	Offset int
	reason string
}

func (e *SyntaxError) Error() string { return "filter: " + e.reason }

func badSyntax(offset int, format string, args ...any) error {
	return &SyntaxError{Offset: offset, reason: fmt.Sprintf(format, args...)}
}
