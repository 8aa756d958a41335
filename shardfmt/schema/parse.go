package schema

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/shardcat/shardcat/shardfmt/internal/schemafb"
)

// Parse reads a schema as people and tools write it, in one of four forms that say the same:
//
//	JSON     {"fields":[{"name":"ts","type":"DateTime"}, …]}, or the list alone
//	YAML     fields:
//	         - {name: ts, type: DateTime}
//	short    ts: DateTime, tags: List<String>, pos: Struct<x: Float64, y: Float64>, id: Guid not null
//	Kusto    (id: guid, t: datetime, n: long)
//
// In JSON and YAML a field has the keys name, type, nullable (true if left out), children, aliases,
// extension (label, properties), internal, doc; schema_id is read over. Types are read without regard to
// case. In the short form a name that is not an identifier stands in double quotes, or as ['name'].
// The result is valid and numbered. Errors match ErrInvalid.
func Parse(text string) (*Schema, error) {
	s, err := parseAny(text)
	if err != nil {
		return nil, err
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	s.Number()
	return s, nil
}

func parseAny(text string) (*Schema, error) {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") && !strings.HasPrefix(text, "['") {
		return parseJSON([]byte(text))
	}
	s, shortErr := parseShort(text)
	if shortErr == nil {
		return s, nil
	}
	var doc any
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, shortErr
	}
	switch doc := doc.(type) {
	case map[string]any:
		if _, ok := doc["fields"].([]any); !ok {
			return nil, shortErr
		}
	case []any:
	default:
		return nil, shortErr
	}
	asJSON, err := json.Marshal(doc)
	if err != nil {
		return nil, invalid("%v", err)
	}
	return parseJSON(asJSON)
}

// parseShort reads the short form, in parentheses or without.
func parseShort(text string) (*Schema, error) {
	p := &parser{text: text}
	end := byte(0)
	if p.take('(') {
		end = ')'
	}
	s := new(Schema)
	for more := !p.at(end); more; more = p.take(',') {
		name, err := p.name()
		if err != nil {
			return nil, err
		}
		if !p.take(':') {
			return nil, p.wrong("a colon after %q", name)
		}
		n, err := p.typ(1)
		if err != nil {
			return nil, err
		}
		n.Name = name
		s.Fields = append(s.Fields, n)
	}
	if end != 0 && !p.take(end) || !p.at(0) {
		return nil, p.wrong("a comma or the end")
	}
	return s, nil
}

// parseType reads one type of the short form.
func parseType(text string) (*Node, error) {
	p := &parser{text: text}
	n, err := p.typ(1)
	if err == nil && !p.at(0) {
		err = p.wrong("the end of the type")
	}
	return n, err
}

// parser reads the short form. Positions are bytes of text.
type parser struct {
	text string
	pos  int
}

func (p *parser) wrong(format string, args ...any) error {
	found := "the end"
	if rest := p.text[p.pos:]; rest != "" {
		found = strconv.Quote(rest[:min(len(rest), 12)])
	}
	return invalid("at byte %d: expected "+format+", found %s", append(append([]any{p.pos}, args...), found)...)
}

func (p *parser) client() {
	for p.pos < len(p.text) {
		r, n := utf8.DecodeRuneInString(p.text[p.pos:])
		if !unicode.IsSpace(r) {
			return
		}
		p.pos += n
	}
}

// at reports whether c comes next, 0 meaning the end.
func (p *parser) at(c byte) bool {
	p.client()
	if p.pos == len(p.text) {
		return c == 0
	}
	return c != 0 && p.text[p.pos] == c
}

// take goes past c if it comes next.
func (p *parser) take(c byte) bool {
	if !p.at(c) {
		return false
	}
	p.pos++
	return true
}

// word reads letters, digits and what names are commonly made of; "" if there are none.
func (p *parser) word() string {
	p.client()
	start := p.pos
	for p.pos < len(p.text) {
		r, n := utf8.DecodeRuneInString(p.text[p.pos:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.@$", r) {
			break
		}
		p.pos += n
	}
	return p.text[start:p.pos]
}

// name reads a name: a word, or any text in double quotes or in ['…'].
func (p *parser) name() (string, error) {
	switch {
	case p.at('"'):
		quoted, err := strconv.QuotedPrefix(p.text[p.pos:])
		if err != nil {
			return "", p.wrong("a name that ends in a double quote")
		}
		p.pos += len(quoted)
		return strconv.Unquote(quoted)
	case p.take('['):
		for _, quote := range []string{"'", `"`} {
			if rest := p.text[p.pos:]; strings.HasPrefix(rest, quote) {
				if name, _, ok := strings.Cut(rest[1:], quote+"]"); ok {
					p.pos += len(name) + 3
					return name, nil
				}
			}
		}
		return "", p.wrong("a name as ['name']")
	}
	if w := p.word(); w != "" {
		return w, nil
	}
	return "", p.wrong("a name")
}

// typ reads a type: a name, its size in parentheses, its children in angle brackets, and "not null".
func (p *parser) typ(depth int) (*Node, error) {
	if depth > schemafb.MaxDepth {
		return nil, invalid("nodes nest deeper than %d levels", schemafb.MaxDepth)
	}
	start := p.pos
	name := p.word()
	if name == "" {
		return nil, p.wrong("a type")
	}
	size, sized, err := p.size()
	if err != nil {
		return nil, err
	}
	children, err := p.children(depth)
	if err != nil {
		return nil, err
	}
	n, err := newNode(name, size, sized)
	if err != nil {
		p.pos = start
		return nil, err
	}
	n.Children = children
	if n.Nullable, err = p.nullable(); err != nil {
		return nil, err
	}
	return n, nil
}

// size reads "(16)", if it is there.
func (p *parser) size() (size uint64, sized bool, err error) {
	if !p.take('(') {
		return 0, false, nil
	}
	if size, err = strconv.ParseUint(p.word(), 10, 32); err != nil || !p.take(')') {
		return 0, false, p.wrong("a size, as (16)")
	}
	return size, true, nil
}

// children reads "<Int64, name: String>", if it is there. Children may have names.
func (p *parser) children(depth int) ([]*Node, error) {
	if !p.take('<') {
		return nil, nil
	}
	var children []*Node
	for more := !p.at('>'); more; more = p.take(',') {
		before := p.pos
		name, err := p.name()
		if err != nil {
			return nil, err
		}
		if !p.take(':') {
			name, p.pos = "", before
		}
		n, err := p.typ(depth + 1)
		if err != nil {
			return nil, err
		}
		n.Name = name
		children = append(children, n)
	}
	if !p.take('>') {
		return nil, p.wrong("a comma or >")
	}
	return children, nil
}

// nullable reads "not null" or "null"; without either, null is possible.
func (p *parser) nullable() (bool, error) {
	before := p.pos
	switch strings.ToLower(p.word()) {
	case "":
		return true, nil
	case "null":
		return true, nil
	case "not":
		if strings.EqualFold(p.word(), "null") {
			return false, nil
		}
	}
	p.pos = before
	return false, p.wrong("a comma")
}

// String is s in the short form. Aliases, docs, internal kinds and extensions without a type name of their
// own are left out.
func (s *Schema) String() string {
	var b strings.Builder
	for i, f := range s.Fields {
		if i > 0 {
			b.WriteString(", ")
		}
		f.short(&b, f.Name, true)
	}
	return b.String()
}

func (n *Node) short(b *strings.Builder, name string, named bool) {
	if named {
		b.WriteString(shortName(name))
		b.WriteString(": ")
	}
	b.WriteString(n.TypeName())
	if len(n.Children) > 0 {
		b.WriteByte('<')
		for i, c := range n.Children {
			if i > 0 {
				b.WriteString(", ")
			}
			c.short(b, c.Name, c.Name != "")
		}
		b.WriteByte('>')
	}
	if !n.Nullable {
		b.WriteString(" not null")
	}
}

// shortName quotes a name that is not a word of the short form.
func shortName(name string) string {
	p := &parser{text: name}
	if w := p.word(); w != "" && w == name {
		return name
	}
	return strconv.Quote(name)
}
