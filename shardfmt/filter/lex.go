package filter

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind reports what a token is.
type tokenKind uint8

const (
	endToken    tokenKind = iota
	nameToken             // identifier or keyword
	quotedToken           // "name"
	stringToken           // 'text'
	numberToken
	symbolToken // operator, bracket, comma, dot
)

// token is one word of an expression; at is its byte offset, for errors.
type token struct {
	kind tokenKind
	text string
	at   int
}

// is reports whether the token is the given keyword, in any case.
func (t token) is(keyword string) bool {
	return t.kind == nameToken && strings.EqualFold(t.text, keyword)
}

// reserved names can't stand for a field unless quoted.
var reserved = map[string]bool{
	"AND": true, "OR": true, "NOT": true, "IN": true, "BETWEEN": true, "IS": true, "NULL": true, "LIKE": true,
	"TRUE": true, "FALSE": true, "HAS": true, "HASPREFIX": true, "CONTAINS": true,
	"HAS_CS": true, "HASPREFIX_CS": true, "CONTAINS_CS": true,
}

// lex splits an expression into tokens, closed by an endToken.
func lex(s string) ([]token, error) {
	var out []token
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case unicode.IsSpace(r):
			i += size
		case r == '\'' || r == '"':
			text, next, err := lexQuoted(s, i, byte(r))
			if err != nil {
				return nil, err
			}
			kind := stringToken
			if r == '"' {
				kind = quotedToken
			}
			out = append(out, token{kind, text, i})
			i = next
		case isNumberStart(s[i:], out):
			next := numberEnd(s, i)
			out = append(out, token{numberToken, s[i:next], i})
			i = next
		case r == '_' || unicode.IsLetter(r):
			next := i + len(identifierPrefix(s[i:]))
			out = append(out, token{nameToken, s[i:next], i})
			i = next
		default:
			symbol := symbolAt(s[i:])
			if symbol == "" {
				return nil, badSyntax(i, "unexpected %q at offset %d", r, i)
			}
			out = append(out, token{symbolToken, symbol, i})
			i += len(symbol)
		}
	}
	return append(out, token{endToken, "the end", len(s)}), nil
}

// lexQuoted reads a quoted text whose quote is doubled inside.
func lexQuoted(s string, start int, quote byte) (text string, next int, err error) {
	var b strings.Builder
	for i := start + 1; i < len(s); i++ {
		if s[i] != quote {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == quote {
			b.WriteByte(quote)
			i++
			continue
		}
		return b.String(), i + 1, nil
	}
	return "", 0, badSyntax(start, "the quote at offset %d is never closed", start)
}

// isNumberStart reports whether a number starts here: a digit, or a sign or point before one where no operand
// ended just now.
func isNumberStart(s string, before []token) bool {
	if s[0] >= '0' && s[0] <= '9' {
		return true
	}
	if s[0] != '-' && s[0] != '+' && s[0] != '.' {
		return false
	}
	if s[0] == '.' && len(before) > 0 && (before[len(before)-1].kind == nameToken || before[len(before)-1].kind == quotedToken) {
		return false
	}
	rest := strings.TrimLeft(s, "+-.")
	return len(s)-len(rest) <= 2 && rest != "" && rest[0] >= '0' && rest[0] <= '9'
}

// numberEnd is the offset after the number that starts at i: sign, digits, point, exponent.
func numberEnd(s string, i int) int {
	for j := i + 1; j < len(s); j++ {
		c := s[j]
		switch {
		case c >= '0' && c <= '9', c == '.', c == 'e', c == 'E':
		case (c == '+' || c == '-') && (s[j-1] == 'e' || s[j-1] == 'E'):
		default:
			return j
		}
	}
	return len(s)
}

// identifierPrefix is the longest identifier that s starts with.
func identifierPrefix(s string) string {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return s[:i]
		}
	}
	return s
}

func isIdentifier(s string) bool { return s != "" && identifierPrefix(s) == s }

// symbolAt is the operator or bracket that s starts with, or "".
func symbolAt(s string) string {
	for _, two := range []string{"!=", "<>", "<=", ">=", "=="} {
		if strings.HasPrefix(s, two) {
			return two
		}
	}
	if strings.IndexByte("=<>(),.", s[0]) >= 0 {
		return s[:1]
	}
	return ""
}
