package stripeindex

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shardcat/shardcat/shardfmt/internal/index/layerindex"
	"github.com/shardcat/shardcat/shardfmt/internal/index/tokenizer"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Kind is a kind of index.
type Kind uint8

// The kinds.
const (
	// Text answers HAS, HASPREFIX, = and IN on strings.
	Text Kind = iota
	// Hash answers = and IN.
	Hash
	// Layer answers =, IN and ranges.
	Layer
)

var kindNames = [...]string{Text: "text", Hash: "hash", Layer: "layer"}

// Scope is what an index belongs to.
type Scope uint8

// The scopes.
const (
	// OfStripe is one index for each stripe, which stays right wherever the stripe comes to.
	OfStripe Scope = iota
	// OfShard is one index for all stripes of a shard, which merging merges.
	OfShard
	// OfField and OfShardField are the same of one field, and stand in its description: in the stripe, or in the shard.
	OfField
	OfShardField
)

var scopeNames = [...]string{OfStripe: "stripe", OfShard: "shard", OfField: "field", OfShardField: "shard-field"}

// ParseScope reads stripe, shard, field or shard-field.
func ParseScope(text string) (Scope, error) {
	if i := slices.Index(scopeNames[:], text); i >= 0 {
		return Scope(i), nil
	}
	return 0, fmt.Errorf("index scope %q: expected stripe, shard, field or shard-field", text)
}

// Set is ParseScope, as a flag does it.
func (s *Scope) Set(text string) (err error) {
	*s, err = ParseScope(text)
	return err
}

// Whole reports whether an index is one of all stripes.
func (s Scope) Whole() bool { return s == OfShard || s == OfShardField }

// ofField reports whether an index stands in the description of its field.
func (s Scope) ofField() bool { return s == OfField || s == OfShardField }

// Spec requests an index.
type Spec struct {
	Kind  Kind
	Scope Scope
	// Columns are the dotted paths of the indexed fields. Several share one index; several joined by + are one field of it, which
	// holds the terms of all of them. Those of a layer index are one key, of the first column first.
	Columns []string
	// Tokenizer of a text index.
	Tokenizer tokenizer.Tokenizer
}

// ParseSpec reads text:COL[:TOKENIZER], hash:COL or layer:COL; several columns are separated by commas, those of a
// composite of texts by +. A name in double quotes may hold anything; a quote in it is doubled. text@shard and the like request another scope.
func ParseSpec(s string) (Spec, error) {
	kind, rest, ok := strings.Cut(s, ":")
	kind, scope, scoped := strings.Cut(kind, "@")
	k := slices.Index(kindNames[:], kind)
	if !ok || k < 0 || rest == "" {
		return Spec{}, fmt.Errorf("index %q: expected text:COL[:TOKENIZER], hash:COL or layer:COL", s)
	}
	out := Spec{Kind: Kind(k)}
	if scoped {
		var err error
		if out.Scope, err = ParseScope(scope); err != nil {
			return Spec{}, fmt.Errorf("index %q: %w", s, err)
		}
	}
	var token string
	out.Columns, token = parseColumns(rest, out.Kind == Text)
	if token != "" {
		z, err := tokenizer.ParseTokenizer(token)
		if err != nil {
			return Spec{}, fmt.Errorf("index %q: %w", s, err)
		}
		out.Tokenizer = z
	}
	return out, out.check()
}

// check refuses what is not built.
func (s *Spec) check() error {
	if s.Scope.ofField() && len(s.Columns) > 1 {
		return fmt.Errorf("index %s: an index of scope %s covers one column; use scope stripe or shard", s.Name(), scopeNames[s.Scope])
	}
	return nil
}

// String is the form that ParseSpec reads.
func (s Spec) String() string {
	kind := kindNames[s.Kind]
	if s.Scope != OfStripe {
		kind += "@" + scopeNames[s.Scope]
	}
	text := kind + ":" + formatColumns(s.Columns)
	if s.Kind == Text && s.Tokenizer != tokenizer.Word {
		text += ":" + s.Tokenizer.String()
	}
	return text
}

// Name is what the index is called, whatever its scope: its kind and columns.
func (s Spec) Name() string { return kindNames[s.Kind] + ":" + formatColumns(s.Columns) }

// Set reads the text of a spec, as a flag does.
func (s *Spec) Set(text string) (err error) {
	*s, err = ParseSpec(text)
	return err
}

// ParseSpecs reads specs separated by spaces, as a table property holds them.
func ParseSpecs(text string) (out []Spec, err error) {
	for _, word := range fields(text) {
		s, err := ParseSpec(word)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, Check(out)
}

// Check refuses specs of one name, and what is not built.
func Check(specs []Spec) error {
	names := map[string]bool{}
	for _, s := range specs {
		if err := s.check(); err != nil {
			return err
		}
		name := s.Name()
		if names[name] {
			return fmt.Errorf("index %s is listed twice", name)
		}
		names[name] = true
	}
	return nil
}

// FormatSpecs is the text that ParseSpecs reads.
func FormatSpecs(specs []Spec) string {
	words := make([]string, len(specs))
	for i, s := range specs {
		words[i] = s.String()
	}
	return strings.Join(words, " ")
}

// column is an indexed field.
type column struct {
	// path leads from the top-level field, whose place in a batch is top, to the leaf.
	top  int
	path []*schema.Node
	// more are the further members of a composite.
	more []column
}

// members are the columns of a composite, or the column alone.
func (c *column) members() []column { return append([]column{*c}, c.more...) }

// text is what the columns are called together.
func (c *column) text() string {
	var all []string
	for _, m := range c.members() {
		all = append(all, strings.Join(m.names(), "."))
	}
	return strings.Join(all, "+")
}

func (c *column) leaf() *schema.Node { return c.path[len(c.path)-1] }

// names are the stored names on the path.
func (c *column) names() []string {
	out := make([]string, len(c.path))
	for i, n := range c.path {
		out[i] = n.Name
		if i > 0 && c.path[i-1].Basic == schema.List {
			out[i] = "item"
		}
	}
	return out
}

// columns finds the fields of a spec, in ascending order of their numbers, composites behind the others.
func (s *Spec) columns(in *schema.Schema) (out []column, err error) {
	for _, path := range s.Columns {
		c, err := s.composite(in, path)
		if err != nil {
			return nil, fmt.Errorf("index %s: %w", s.Name(), err)
		}
		out = append(out, c)
	}
	if s.Scope.ofField() && (len(out[0].more) > 0 || out[0].inList()) {
		return nil, fmt.Errorf("index %s: an index of scope %s needs a column with one value per record; use scope stripe or shard", s.Name(), scopeNames[s.Scope])
	}
	if s.Kind == Layer && len(out) > 1 {
		return s.oneKey(out)
	}
	slices.SortStableFunc(out, func(a, b column) int {
		return cmp.Or(cmp.Compare(min(len(a.more), 1), min(len(b.more), 1)), cmp.Compare(a.leaf().ID, b.leaf().ID))
	})
	for i := range out {
		for k := range out[:i] {
			if out[i].text() == out[k].text() {
				return nil, fmt.Errorf("index %s: column %s is listed twice", s.Name(), out[i].text())
			}
		}
	}
	return out, nil
}

// oneKey makes one column of those of a layer index, which are parts of one key.
func (s *Spec) oneKey(all []column) ([]column, error) {
	for i := range all {
		if all[i].inList() {
			return nil, fmt.Errorf("index %s: column %s is in a list; a key of several columns needs columns with one value per record", s.Name(), all[i].text())
		}
		for k := range all[:i] {
			if all[i].leaf() == all[k].leaf() {
				return nil, fmt.Errorf("index %s: column %s is listed twice", s.Name(), all[i].text())
			}
		}
	}
	key := all[0]
	key.more = all[1:]
	return []column{key}, nil
}

// inList reports whether a record may have several values of the column.
func (c *column) inList() bool {
	return slices.ContainsFunc(c.path, func(n *schema.Node) bool { return n.Basic == schema.List })
}

// composite finds a column, or several joined by +.
func (s *Spec) composite(in *schema.Schema, path string) (c column, err error) {
	paths := s.parts(in, path)
	if c, err = s.column(in, paths[0]); err != nil || len(paths) == 1 {
		return c, err
	}
	if s.Kind != Text {
		return c, fmt.Errorf("%s: a composite is for text indexes", path)
	}
	for _, p := range paths[1:] {
		m, err := s.column(in, p)
		if err != nil {
			return c, err
		}
		for _, other := range c.members() {
			if other.leaf() == m.leaf() {
				return c, fmt.Errorf("%s names column %s twice", path, p)
			}
		}
		c.more = append(c.more, m)
	}
	return c, nil
}

// parts are the paths of a composite; a column whose name holds a + is none.
func (s *Spec) parts(in *schema.Schema, path string) []string {
	if _, err := in.Lookup(path); err == nil {
		return []string{path}
	}
	return strings.Split(path, "+")
}

// Paths are all columns of the index, those of composites one by one.
func (s *Spec) Paths(in *schema.Schema) (out []string) {
	for _, path := range s.Columns {
		out = append(out, s.parts(in, path)...)
	}
	return out
}

// Rename gives the columns other names, members of composites one by one; ok is false if one has none.
func (s Spec) Rename(in *schema.Schema, name func(path string) (string, bool)) (out Spec, ok bool) {
	out = s
	out.Columns = nil
	for _, path := range s.Columns {
		var parts []string
		for _, p := range s.parts(in, path) {
			now, ok := name(p)
			if !ok {
				return out, false
			}
			parts = append(parts, now)
		}
		out.Columns = append(out.Columns, strings.Join(parts, "+"))
	}
	return out, true
}

// ordered reports whether values of a node can be keys of a layer index.
func ordered(n *schema.Node) bool {
	_, ok := layerindex.FormOf(n)
	return ok
}

func (s *Spec) column(in *schema.Schema, path string) (c column, err error) {
	n, err := in.Lookup(path)
	if err != nil {
		return c, err
	}
	for n.Basic == schema.List && len(n.Children) == 1 { // its items
		n = n.Children[0]
	}
	switch {
	case s.Kind == Text && n.Basic != schema.String && !n.IsDynamic():
		return c, fmt.Errorf("%s is %s; a text index supports String and Dynamic", path, n.TypeName())
	case s.Kind == Layer && !ordered(n):
		return c, fmt.Errorf("%s is %s, which a layer index does not support", path, n.TypeName())
	case s.Kind == Hash && !n.Hashable():
		return c, fmt.Errorf("%s is %s, whose equal values have different bytes or none, which a hash index does not support", path, n.TypeName())
	}
	byID := map[uint32]*schema.Node{}
	in.Walk(func(_ string, n *schema.Node) bool {
		byID[n.ID] = n
		return true
	})
	for at := n; ; at = byID[at.Parent] {
		if at != n && at.Basic != schema.Struct && at.Basic != schema.List {
			return c, fmt.Errorf("%s is in a %s; an index supports members of structs and lists", path, at.TypeName())
		}
		c.path = append(c.path, at)
		if at.Parent == schema.NoParent {
			break
		}
	}
	slices.Reverse(c.path)
	c.top = slices.Index(in.Fields, c.path[0])
	return c, nil
}
