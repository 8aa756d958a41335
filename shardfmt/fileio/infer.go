package fileio

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// inference guesses a schema from records.
type inference struct {
	root  *guess
	times *timeText
	// nulls reports whether the text of a CSV field may stand for null.
	nulls map[string]bool
	// numbers reads the numbers of CSV.
	numbers *numberText
	// fields counts the guesses below root.
	fields int
	rows   int64
	// Where the current record stands.
	input string
	line  int64
}

// kind of value, as far as JSON shows it.
type kind uint8

const (
	kindNone kind = iota // nothing but null so far
	kindBoolean
	kindNumber
	kindText
	kindArray
	kindObject
	// kindMixed is what changes its kind: any JSON.
	kindMixed
)

var kindNames = [...]string{"null", "a boolean", "a number", "a string", "an array", "an object", "anything"}

// guess is what is known of the values of one field.
type guess struct {
	path string
	kind kind
	// input and line are where the kind was seen first.
	input string
	line  int64
	// values counts those that are not null; example is the text of the first.
	values  int64
	example string
	// notes report what a reader of the result should know.
	notes []string
	// Of numbers: whether one is a fraction, is negative, is beyond Int64, UInt64 or a decimal.
	fraction, negative, beyondInt64, beyondUint64, beyondDecimal bool
	// Of text: whether one is no time, no guid; and how much the times say.
	noTime, noGuid     bool
	zoneless, dateOnly bool
	// special: a string states NaN or infinity, which decides nothing by itself.
	special bool
	// inCells: they are those of CSV, where what no number type holds is text.
	inCells bool
	// nullText is the first text that may stand for null and isn't empty, nullTexts how many there are.
	nullText  string
	nullTexts int64
	// Of arrays: the elements.
	item *guess
	// Of objects: the members in order of appearance.
	names   []string
	members map[string]*guess
}

func newInference(o SourceOptions) *inference {
	times, _ := newTimeText(o) // the options are valid
	in := &inference{root: &guess{kind: kindObject}, times: times, numbers: newNumberText(o), nulls: map[string]bool{"": true}}
	for _, text := range nullTexts(o) {
		in.nulls[text] = true
	}
	return in
}

// nullTexts are the texts that may stand for null in a CSV field.
func nullTexts(o SourceOptions) []string {
	if o.Nulls != nil {
		return o.Nulls
	}
	return DefaultNulls
}

// record looks at one JSON document of docs, which should be an object, and gives its length: another object may follow on its line.
func (in *inference) record(doc document, docs *documents) (int, error) {
	in.input, in.line = doc.input, doc.line
	c := &cursor{b: doc.text}
	err := func() error {
		if c.peek() != '{' {
			return notARecord(c)
		}
		if err := in.value(in.root, c, 0); err != nil {
			return err
		}
		if c.peek() == '{' && docs.cut(doc.text, c.i) {
			return nil
		}
		return c.end()
	}()
	if err != nil {
		return 0, doc.located(err)
	}
	in.rows++
	return c.i, nil
}

// errTooManyFields is a file with more fields than maxFields.
var errTooManyFields = fmt.Errorf("more than %d fields, which is the limit for one shard: drop some with a --schema that names those to keep and --unknown-fields drop, or keep objects with many keys whole as Dynamic", maxFields)

// maxMembers is how many members the objects below a record may have, taken together. Beyond it they are not structs
// but dictionaries, keyed by data, and become Dynamic.
const maxMembers = 1000

// member is the guess of a member, new if it wasn't seen before.
func (in *inference) member(g *guess, name []byte) (*guess, error) {
	m := g.members[string(name)]
	if m != nil {
		return m, nil
	}
	if in.fields == maxFields {
		return nil, errTooManyFields
	}
	in.fields++
	m = &guess{path: string(name)}
	if g.path != "" {
		m.path = g.path + "." + m.path
	}
	if g.members == nil {
		g.members = map[string]*guess{}
	}
	g.members[string(name)] = m
	g.names = append(g.names, string(name))
	return m, nil
}

// maxInferDepth keeps what is inferred within what can be held; what nests deeper is Dynamic.
const maxInferDepth = 60

// value looks at the value under the cursor.
func (in *inference) value(g *guess, c *cursor, depth int) error {
	first := c.peek()
	if first == 'n' {
		return c.word("null")
	}
	if g.values++; g.values == 1 || g.kind == kindMixed {
		start := c.i
		if err := c.skip(depth); err != nil {
			return err
		}
		if g.values == 1 {
			g.example = example(c.b[start:c.i])
		}
		if g.kind == kindMixed {
			return nil
		}
		c.i = start
	}
	if depth > maxInferDepth {
		in.mix(g, fmt.Sprintf("it nests deeper than %d levels", maxInferDepth))
		return c.skip(0)
	}
	switch first {
	case 't', 'f':
		in.is(g, kindBoolean)
		_, err := c.boolean()
		return err
	case '"':
		text, err := c.str()
		if err == nil {
			in.textual(g, text)
		}
		return err
	case '[':
		return in.elements(g, c, depth)
	case '{':
		return in.objectMembers(g, c, depth)
	}
	token, err := c.number()
	if err == nil {
		g.number(token)
		in.is(g, kindNumber)
	}
	return err
}

// maxExample bounds an example, in bytes.
const maxExample = 40

// example is a value as the summary of an inference shows it.
func example(text []byte) string {
	if len(text) <= maxExample {
		return string(text)
	}
	return strings.ToValidUTF8(string(text[:maxExample]), "") + "…"
}

// textual looks at a string: one that states NaN or infinity may stand among numbers.
func (in *inference) textual(g *guess, text []byte) {
	switch string(text) {
	case "NaN", "Infinity", "-Infinity":
		g.special = true
		if g.kind == kindNone || g.kind == kindNumber {
			return
		}
	}
	in.text(g, text)
	in.is(g, kindText)
}

func (in *inference) elements(g *guess, c *cursor, depth int) error {
	if !in.is(g, kindArray) {
		return c.skip(depth)
	}
	if g.item == nil {
		g.item = &guess{path: g.path + ".item"}
		in.fields++
	}
	return c.array(func() error { return in.value(g.item, c, depth+1) })
}

func (in *inference) objectMembers(g *guess, c *cursor, depth int) error {
	if !in.is(g, kindObject) {
		return c.skip(depth)
	}
	return c.object(func(key []byte) error {
		if len(key) == 0 {
			if depth == 0 {
				return inField(g.path, "a member without a name: rename it, since a column needs a name")
			}
			in.mix(g, "a member has no name")
		}
		if depth > 0 && len(g.names) >= maxMembers && g.members[string(key)] == nil {
			in.mix(g, fmt.Sprintf("its objects have more than %d different members", maxMembers))
		}
		if g.kind == kindMixed {
			return c.skip(depth)
		}
		m, err := in.member(g, key)
		if err != nil {
			return err
		}
		return in.value(m, c, depth+1)
	})
}

// is notes the kind of a value. One of another kind than before makes the field Dynamic, and is then looked at no
// further: is reports whether it is of the one kind.
func (in *inference) is(g *guess, k kind) bool {
	if g.kind == kindNone {
		g.kind, g.input, g.line = k, in.input, in.line
	}
	if g.kind != k && g.kind != kindMixed {
		in.mix(g, fmt.Sprintf("the type changes: %s:%d has %s, %s:%d has %s", g.input, g.line, kindNames[g.kind], in.input, in.line, kindNames[k]))
	}
	return g.kind == k
}

// mix makes a field Dynamic, and reports why.
func (in *inference) mix(g *guess, why string) {
	if g.kind != kindMixed {
		g.notes = append(g.notes, why)
		in.fields -= g.count()
		g.kind, g.item, g.names, g.members = kindMixed, nil, nil, nil
	}
}

// count is how many guesses are below one.
func (g *guess) count() int {
	n := 0
	if g.item != nil {
		n += 1 + g.item.count()
	}
	for _, m := range g.members {
		n += 1 + m.count()
	}
	return n
}

// number notes what a number needs.
func (g *guess) number(token []byte) {
	if bytes.ContainsAny(token, ".eENI") { // also NaN and Infinity, which CSV has
		g.fraction = true
		return
	}
	g.negative = g.negative || token[0] == '-'
	if len(token) < 19 { // any number of 18 digits is an Int64
		return
	}
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
func (in *inference) text(g *guess, s []byte) {
	if !g.noTime {
		_, form, _, err := in.times.parse(s)
		g.noTime = err != nil
		g.zoneless = g.zoneless || form == literal.Zoneless
		g.dateOnly = g.dateOnly || form == literal.DateOnly
	}
	if !g.noGuid {
		g.noGuid = !literal.IsHyphenated(string(s))
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
		for _, name := range append([]string{f.Name}, f.Aliases...) {
			known[name] = true
			extendNode(n, g.members[name])
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

// extendNode adds to the structs that a field holds, at any depth, what the guess of it has beyond. What is of another kind than the
// field stays: reading it is refused, or converts it.
func extendNode(n *schema.Node, g *guess) {
	switch {
	case g == nil:
	case n.Basic == schema.Struct && g.kind == kindObject:
		n.Children = extended(n.Children, g)
	case (n.Basic == schema.List || n.Basic == schema.FixedSizeList) && g.kind == kindArray:
		extendNode(n.Children[0], g.item)
	case n.Basic == schema.Map && g.kind == kindArray && g.item.kind == kindObject:
		extendNode(n.Children[1], g.item.members["value"])
	case n.Basic == schema.Map && g.kind == kindObject:
		for _, name := range g.names {
			extendNode(n.Children[1], g.members[name])
		}
	}
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
		if g.isTime() {
			n.Basic = schema.DateTime
		} else if !g.noGuid && !g.special {
			n.Basic, n.FixedSize = schema.Guid, 16
		}
	case kindArray:
		n.Basic, n.Children = schema.List, []*schema.Node{g.item.node("item")}
	case kindObject:
		n.Basic, n.Children = schema.Struct, g.children()
	case kindMixed:
		n.Basic, n.Ext = schema.Binary, &schema.Extension{Label: schema.LabelDynamic}
	}
	return n
}

// isTime reports whether every text was a point in time.
func (g *guess) isTime() bool { return g.kind == kindText && !g.noTime && !g.special }

// numeric picks the narrowest type that holds every number: Int64, UInt64, Decimal for longer whole
// numbers, text for those beyond its 34 digits (Dynamic in JSON), Float64 for fractions.
func (g *guess) numeric(n *schema.Node) {
	switch {
	case g.fraction || g.special:
		n.Basic = schema.Float64
	case g.beyondDecimal && g.inCells:
		n.Basic = schema.String
	case g.beyondDecimal:
		n.Basic, n.Ext = schema.Binary, &schema.Extension{Label: schema.LabelDynamic}
	case !g.beyondInt64:
		n.Basic, n.Signed = schema.Int64, true
	case !g.beyondUint64 && !g.negative:
		n.Basic = schema.Int64
	default:
		n.Basic, n.FixedSize = schema.FixedSizeBinary, 16
		n.Ext = &schema.Extension{Label: schema.LabelDecimal}
	}
}

// cell looks at a CSV field that is not null for certain. A column of mixed kinds is text, which holds whatever is
// there; texts that may stand for null decide nothing.
func (in *inference) cell(g *guess, text []byte, quoted bool) {
	trimmed := text
	if !quoted {
		trimmed = bytes.Trim(text, " ")
	}
	if in.nulls[string(trimmed)] {
		g.nullTexts++
		if g.nullText == "" {
			g.nullText = string(trimmed)
		}
		return
	}
	if g.values++; g.values == 1 {
		g.example = example(text)
	}
	k, token := in.numbers.kind(trimmed)
	if g.kind != kindNone && g.kind != k {
		k, g.kind = kindText, kindText
		g.noTime, g.noGuid = true, true
	}
	g.kind, g.inCells = k, true
	switch k {
	case kindNumber:
		g.number(token)
	case kindText:
		in.text(g, trimmed)
	}
}
