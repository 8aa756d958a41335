package flightsql

import "strings"

// kind of a token.
type kind int

const (
	end kind = iota
	name
	text
	symbol
)

// token is a piece of a query: a name or number, a text in single quotes, a symbol, or the end.
type token struct {
	kind   kind
	text   string
	quoted bool
	// at is the byte where it begins.
	at int
}

// scan splits a query. Comments are no part of it.
func scan(query string) (tokens []token, err error) {
	for at := 0; ; {
		for at < len(query) && strings.IndexByte(" \t\r\n", query[at]) >= 0 {
			at++
		}
		if at == len(query) {
			return append(tokens, token{kind: end, text: "the end", at: at}), nil
		}
		t := token{kind: symbol, text: query[at : at+1], at: at}
		switch c := query[at]; {
		case c == '"' || c == '\'':
			value, length := quoted(query[at:])
			if length == 0 {
				return nil, errSyntax("unclosed quote at byte %d", at)
			}
			t.kind, t.text, t.quoted = name, value, true
			if c == '\'' {
				t.kind = text
			}
			at += length
		case wordByte(c):
			to := at
			for to < len(query) && wordByte(query[to]) {
				to++
			}
			t.kind, t.text = name, query[at:to]
			at = to
		default:
			at++
		}
		tokens = append(tokens, t)
	}
}

// quoted reads a text in the quotes that it begins with, of which two stand for one; its length is 0 if it does not end.
func quoted(s string) (value string, length int) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] != s[0]:
			b.WriteByte(s[i])
		case i+1 < len(s) && s[i+1] == s[0]:
			b.WriteByte(s[i])
			i++
		default:
			return b.String(), i + 1
		}
	}
	return "", 0
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
