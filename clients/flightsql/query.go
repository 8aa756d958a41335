package flightsql

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// query is a SELECT that a scan can answer.
type query struct {
	table catalog.Name
	// columns are dotted paths; nil is all of them.
	columns []string
	where   string
	// limit is the most rows, nil for all.
	limit *int64
}

// errSyntax is a query that this server does not answer.
func errSyntax(format string, args ...any) error {
	return fmt.Errorf("%w: %s; this server supports SELECT columns|* FROM table [WHERE expression] [LIMIT n]: "+
		"join, aggregate and order its rows in a SQL engine, DuckDB for one (docs/guides/sql-engines.md)", catalog.ErrInvalid, fmt.Sprintf(format, args...))
}

// parse reads a query.
func parse(text string) (*query, error) {
	tokens, err := scan(text)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(tokens, func(t token) bool { return t.kind == symbol && t.text == "?" }) {
		return nil, errSyntax("parameter without a value: prepare the query and bind it")
	}
	p := &parser{text: text, tokens: tokens}
	q := &query{}
	if !p.keyword("SELECT") {
		return nil, errSyntax("%q is not a SELECT", p.peek().text)
	}
	if q.columns, err = p.columns(); err != nil {
		return nil, err
	}
	if !p.keyword("FROM") {
		return nil, errSyntax("%q, expected FROM", p.peek().text)
	}
	if q.table, err = p.table(); err != nil {
		return nil, err
	}
	if p.keyword("WHERE") {
		if q.where, err = p.where(); err != nil {
			return nil, err
		}
	}
	if p.keyword("LIMIT") {
		if q.limit, err = p.limit(); err != nil {
			return nil, err
		}
	}
	p.symbol(";")
	if left := p.peek(); left.kind != end {
		return nil, errSyntax("unexpected %q at byte %d", left.text, left.at)
	}
	return q, nil
}

// parser goes through the tokens of a query.
type parser struct {
	text   string
	tokens []token
}

func (p *parser) peek() token { return p.tokens[0] }

func (p *parser) next() token {
	t := p.tokens[0]
	if t.kind != end {
		p.tokens = p.tokens[1:]
	}
	return t
}

// keyword takes a word without quotes, in whatever case.
func (p *parser) keyword(word string) bool {
	if t := p.peek(); t.kind == name && !t.quoted && strings.EqualFold(t.text, word) {
		p.next()
		return true
	}
	return false
}

func (p *parser) symbol(s string) bool {
	if t := p.peek(); t.kind == symbol && t.text == s {
		p.next()
		return true
	}
	return false
}

// names reads names with dots between them.
func (p *parser) names() (names []string, err error) {
	for {
		t := p.next()
		if t.kind != name || !t.quoted && reserved[strings.ToUpper(t.text)] {
			return nil, errSyntax("%q at byte %d, expected a name", t.text, t.at)
		}
		names = append(names, t.text)
		if !p.symbol(".") {
			return names, nil
		}
	}
}

// reserved are words that begin the next part of a query, so that a name that is missing is reported.
var reserved = map[string]bool{"SELECT": true, "FROM": true, "WHERE": true, "LIMIT": true, "DISTINCT": true, "AS": true}

func (p *parser) columns() (columns []string, err error) {
	if p.symbol("*") {
		return nil, nil
	}
	for {
		names, err := p.names()
		if err != nil {
			return nil, err
		}
		for i, n := range names {
			names[i] = escape.Replace(n)
		}
		if t := p.peek(); t.kind == symbol && t.text == "(" {
			return nil, errSyntax("the function %s", strings.Join(names, "."))
		}
		columns = append(columns, strings.Join(names, "."))
		if !p.symbol(",") {
			return columns, nil
		}
	}
}

// escape keeps the dots of a name apart from those between names.
var escape = strings.NewReplacer(`\`, `\\`, `.`, `\.`)

// table reads a name, with its namespace before it and this server's catalog before that.
func (p *parser) table() (catalog.Name, error) {
	names, err := p.names()
	if err != nil {
		return catalog.Name{}, err
	}
	if len(names) > 2 && names[0] == CatalogName {
		names = names[1:]
	}
	return catalog.ParseName(strings.Join(names, "."))
}

// where takes the text up to a LIMIT, for the parser of filters.
func (p *parser) where() (string, error) {
	from, depth := p.peek().at, 0
	for {
		t := p.peek()
		word := ""
		if t.kind == name && !t.quoted && depth == 0 {
			word = strings.ToUpper(t.text)
		}
		switch {
		case t.kind == end, word == "LIMIT", t.text == ";" && t.kind == symbol:
			text := strings.TrimSpace(p.text[from:t.at])
			if _, err := filter.Parse(text); err != nil {
				return "", errSyntax("WHERE: %v", err)
			}
			return text, nil
		case clauses[word]:
			return "", errSyntax("%s", word)
		case t.kind == symbol && t.text == "(":
			depth++
		case t.kind == symbol && t.text == ")":
			depth--
		}
		p.next()
	}
}

// clauses are what SQL has behind WHERE, and scans have not.
var clauses = map[string]bool{"GROUP": true, "ORDER": true, "HAVING": true, "UNION": true, "OFFSET": true, "WINDOW": true, "INTERSECT": true, "EXCEPT": true}

func (p *parser) limit() (*int64, error) {
	t := p.next()
	n, err := strconv.ParseInt(t.text, 10, 64)
	if err != nil || n < 0 {
		return nil, errSyntax("LIMIT %q is not a whole number", t.text)
	}
	return &n, nil
}
