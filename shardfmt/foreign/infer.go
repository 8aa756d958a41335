package foreign

import (
	"bytes"
	"strconv"

	"github.com/shardcat/shardcat/internal/valuetext"
	"github.com/shardcat/shardcat/shardfmt/decimal"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// inference guesses a schema from records.
type inference struct {
	root *guess
	// Where the record at hand stands.
	input string
	line  int64
}

// kind of value, as far as JSON tells it.
type kind uint8

const (
	kindNone kind = iota // nothing but null so far
	kindBoolean
	kindNumber
	kindText
	kindArray
	kindObject
)

var kindNames = [...]string{"null", "a boolean", "a number", "a string", "an array", "an object"}

// guess is what is known of the values of one field.
type guess struct {
	path string
	kind kind
	// input and line are where the kind was seen first.
	input string
	line  int64
	// Of numbers: whether one is a fraction, is negative, is beyond Int64, UInt64 or a decimal.
	fraction, negative, beyondInt64, beyondUint64, beyondDecimal bool
	// Of text: whether one is no time, no guid.
	noTime, noGuid bool
	// special: a string says NaN or infinity, which decides nothing by itself.
	special bool
	// Of arrays: the elements.
	item *guess
	// Of objects: the members in order of appearance.
	names   []string
	members map[string]*guess
}

func newInference() *inference {
	return &inference{root: &guess{kind: kindObject}}
}

// record looks at one line of NDJSON.
func (in *inference) record(line []byte, input string, number int64) error {
	in.input, in.line = input, number
	c := &cursor{b: line}
	err := func() error {
		if c.peek() != '{' {
			return notARecord(c)
		}
		if err := in.value(in.root, c, 0); err != nil {
			return err
		}
		return c.end()
	}()
	if err != nil {
		return located(err, input, number)
	}
	return nil
}

// member is the guess of a member, new if it wasn't seen before.
func (g *guess) member(name []byte) *guess {
	m := g.members[string(name)]
	if m == nil {
		m = &guess{path: g.path + string(name)}
		if g.path != "" {
			m.path = g.path + "." + string(name)
		}
		if g.members == nil {
			g.members = map[string]*guess{}
		}
		g.members[string(name)] = m
		g.names = append(g.names, string(name))
	}
	return m
}

// maxInferDepth keeps what is inferred within what can be held.
const maxInferDepth = 60

// value looks at the value under the cursor.
func (in *inference) value(g *guess, c *cursor, depth int) error {
	if depth > maxInferDepth {
		return inField(g.path, "types nest deeper than %d levels", maxInferDepth)
	}
	switch c.peek() {
	case 'n':
		return c.word("null")
	case 't', 'f':
		if _, err := c.boolean(); err != nil {
			return err
		}
		return in.is(g, kindBoolean)
	case '"':
		text, err := c.str()
		if err != nil {
			return err
		}
		return in.textual(g, text)
	case '[':
		return in.elements(g, c, depth)
	case '{':
		return in.objectMembers(g, c, depth)
	}
	token, err := c.number()
	if err != nil {
		return err
	}
	g.number(token)
	return in.is(g, kindNumber)
}

// textual looks at a string: one that says NaN or infinity may stand among numbers.
func (in *inference) textual(g *guess, text []byte) error {
	switch string(text) {
	case "NaN", "Infinity", "-Infinity":
		g.special = true
		if g.kind == kindNone || g.kind == kindNumber {
			return nil
		}
	}
	g.text(text)
	return in.is(g, kindText)
}

func (in *inference) elements(g *guess, c *cursor, depth int) error {
	if err := in.is(g, kindArray); err != nil {
		return err
	}
	if g.item == nil {
		g.item = &guess{path: g.path + ".item"}
	}
	return c.array(func() error { return in.value(g.item, c, depth+1) })
}

func (in *inference) objectMembers(g *guess, c *cursor, depth int) error {
	if err := in.is(g, kindObject); err != nil {
		return err
	}
	return c.object(func(key []byte) error {
		if len(key) == 0 {
			return inField(g.path, "a member without a name")
		}
		return in.value(g.member(key), c, depth+1)
	})
}

// is notes the kind of a value; another kind than before is an error.
func (in *inference) is(g *guess, k kind) error {
	if g.kind == kindNone {
		g.kind, g.input, g.line = k, in.input, in.line
	}
	if g.kind != k {
		return inField(g.path, "the type changes: %s, where %s:%d has %s", kindNames[k], g.input, g.line, kindNames[g.kind])
	}
	return nil
}

// number notes what a number needs.
func (g *guess) number(token []byte) {
	if bytes.ContainsAny(token, ".eENI") { // also NaN and Infinity, which CSV has
		g.fraction = true
		return
	}
	g.negative = g.negative || token[0] == '-'
	if _, err := strconv.ParseInt(string(token), 10, 64); err == nil {
		return
	}
	g.beyondInt64 = true
	if _, err := strconv.ParseUint(string(token), 10, 64); err == nil {
		return
	}
	g.beyondUint64 = true
	if _, err := decimal.Parse(string(token)); err != nil {
		g.beyondDecimal = true
	}
}

// text notes whether a string may be a time or a guid.
func (g *guess) text(s []byte) {
	if !g.noTime {
		_, _, err := valuetext.ParseDateTime(s)
		g.noTime = err != nil
	}
	if !g.noGuid {
		g.noGuid = !valuetext.IsHyphenated(string(s))
	}
}

// schema is what the records so far look like.
func (in *inference) schema() *schema.Schema {
	s := &schema.Schema{Fields: in.root.children()}
	s.Number()
	return s
}

// extend adds the fields that s lacks to its end, or gives a schema of its own if s is nil.
func (in *inference) extend(s *schema.Schema) *schema.Schema {
	if s == nil {
		return in.schema()
	}
	out := &schema.Schema{Fields: extended(s.Fields, in.root)}
	out.Number()
	return out
}

// cloneNode copies a type tree: the schema that a caller gave keeps its numbers.
func cloneNode(n *schema.Node) *schema.Node {
	c := *n
	c.Children = make([]*schema.Node, len(n.Children))
	for i, child := range n.Children {
		c.Children[i] = cloneNode(child)
	}
	return &c
}

// extended adds to fields, and to the fields of structs among them, what the guess has beyond.
func extended(fields []*schema.Node, g *guess) []*schema.Node {
	out, known := make([]*schema.Node, 0, len(fields)), map[string]bool{}
	for _, f := range fields {
		n := cloneNode(f)
		names := append([]string{f.Name}, f.Aliases...)
		for _, name := range names {
			known[name] = true
			m := g.members[name]
			if m != nil && n.Basic == schema.Struct && m.kind == kindObject {
				n.Children = extended(n.Children, m)
			}
		}
		out = append(out, n)
	}
	for _, name := range g.names {
		if !known[name] {
			out = append(out, g.members[name].node(name))
		}
	}
	return out
}

func (g *guess) children() []*schema.Node {
	nodes := make([]*schema.Node, 0, len(g.names))
	for _, name := range g.names {
		nodes = append(nodes, g.members[name].node(name))
	}
	return nodes
}

// node is the type of a guess.
func (g *guess) node(name string) *schema.Node {
	n := &schema.Node{Name: name, Nullable: true, Basic: schema.String}
	switch g.kind {
	case kindBoolean:
		n.Basic = schema.Boolean
	case kindNumber:
		g.numeric(n)
	case kindText:
		if !g.noTime && !g.special {
			n.Basic = schema.DateTime
		} else if !g.noGuid && !g.special {
			n.Basic, n.FixedSize = schema.Guid, 16
		}
	case kindArray:
		n.Basic, n.Children = schema.List, []*schema.Node{g.item.node("item")}
	case kindObject:
		n.Basic, n.Children = schema.Struct, g.children()
	}
	return n
}

// numeric picks the narrowest type that holds every number: Int64, UInt64, Decimal for longer whole
// numbers, Float64 for the rest.
func (g *guess) numeric(n *schema.Node) {
	switch {
	case g.fraction || g.beyondDecimal || g.special:
		n.Basic = schema.Float64
	case !g.beyondInt64:
		n.Basic, n.Signed = schema.Int64, true
	case !g.beyondUint64 && !g.negative:
		n.Basic = schema.Int64
	default:
		n.Basic, n.FixedSize = schema.FixedSizeBinary, 16
		n.Ext = &schema.Extension{Label: schema.LabelDecimal}
	}
}

// cell looks at a CSV field. A column of mixed kinds is text, which holds whatever is there.
func (in *inference) cell(g *guess, text []byte) {
	k := cellKind(text)
	if g.kind != kindNone && g.kind != k {
		k, g.kind = kindText, kindText
		g.noTime, g.noGuid = true, true
	}
	g.kind = k
	switch k {
	case kindNumber:
		g.number(text)
	case kindText:
		g.text(text)
	}
}

// cellKind is the kind that the text of a CSV field looks like. Numbers are written as in JSON, so that
// codes such as 007 stay text.
func cellKind(text []byte) kind {
	switch string(text) {
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return kindBoolean
	case "NaN", "Infinity", "-Infinity":
		return kindNumber
	}
	c := cursor{b: text}
	if token, err := c.number(); err == nil && len(token) == len(text) {
		return kindNumber
	}
	return kindText
}
