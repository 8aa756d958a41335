package parquetchunk

import (
	"github.com/apache/arrow-go/v18/parquet"
	pqschema "github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Shape is a field as the levels of the columns below it describe it.
type Shape struct {
	Node *schema.Node
	// Column is that of a leaf, -1 of lists, maps and structs.
	Column int
	// Present is the definition level from which the value is not null.
	Present uint32
	// Position is the definition level from which an entry has a position in the field, and Rep the highest repetition level with which one begins.
	Position, Rep uint32
	// Element is, of a list or map, the definition level from which an entry is an element.
	Element  uint32
	Children []*Shape
}

// maxDepth bounds how deep fields are nested.
const maxDepth = 64

// Fields is the number of top-level fields.
func (f *Footer) Fields() int { return f.meta.Schema.Root().NumFields() }

// Shape gives a top-level field. Types are determined by Parquet's own schema alone, see Field.
func (f *Footer) Shape(field int) (*Shape, error) {
	n := f.meta.Schema.Root().Field(field)
	s := shaper{footer: f, top: n.Name()}
	return s.field(n, level{}, 1)
}

// level is where a node begins: levels of the nodes above it, and the definition level of the innermost element.
type level struct{ def, rep, position uint32 }

// element is where the elements of a list begin.
func (l level) element() level { return level{def: l.def + 1, rep: l.rep + 1, position: l.def + 1} }

type shaper struct {
	footer *Footer
	top    string
}

func (s *shaper) refuse(why string) error {
	return corrupt.Unsupported(-1, "column %q %s: leave it out with --external-columns, or write the shard without --external-parquet", s.top, why)
}

// field gives the shape of a node that is a field of its own: a list by itself if it is repeated.
func (s *shaper) field(n pqschema.Node, at level, depth int) (*Shape, error) {
	if n.RepetitionType() != parquet.Repetitions.Repeated {
		return s.value(n, at, depth)
	}
	return s.list(n.Name(), n, at, depth)
}

// value gives the shape of a node of which the repetition counts as required if it is repeated.
func (s *shaper) value(n pqschema.Node, at level, depth int) (*Shape, error) {
	if depth > maxDepth {
		return nil, s.refuse("is nested too deeply")
	}
	if n.RepetitionType() == parquet.Repetitions.Optional {
		at.def++
	}
	g, ok := n.(*pqschema.GroupNode)
	if !ok {
		return s.leaf(n, at)
	}
	switch g.LogicalType().(type) {
	case pqschema.ListLogicalType:
		return s.annotated(g, at, depth)
	case pqschema.MapLogicalType:
		return s.mapOf(g, at, depth)
	}
	switch {
	case g.ConvertedType() == pqschema.ConvertedTypes.MapKeyValue:
		return s.mapOf(g, at, depth)
	case g.LogicalType() != nil && g.LogicalType().IsValid() && !g.LogicalType().IsNone():
		return nil, s.refuse("is or contains a group of the type " + g.LogicalType().String())
	}
	return s.group(g, at, depth)
}

func (s *shaper) leaf(n pqschema.Node, at level) (*Shape, error) {
	column, ok := s.footer.leaves[n]
	if !ok {
		return nil, s.refuse("has a group without columns")
	}
	node, err := s.footer.Field(column)
	if err != nil {
		return nil, err
	}
	return &Shape{Node: node, Column: column, Present: at.def, Position: at.position, Rep: at.rep}, nil
}

// made is the shape of a node with children.
func made(name string, basic schema.Basic, at level, children ...*Shape) *Shape {
	out := &Shape{Column: -1, Present: at.def, Position: at.position, Rep: at.rep, Children: children,
		Node: &schema.Node{Name: name, Basic: basic, Nullable: at.def > at.position}}
	for _, c := range children {
		out.Node.Children = append(out.Node.Children, c.Node)
	}
	return out
}

func (s *shaper) group(g *pqschema.GroupNode, at level, depth int) (*Shape, error) {
	if g.NumFields() == 0 {
		return nil, s.refuse("has a group without columns")
	}
	seen := map[string]bool{}
	var children []*Shape
	for i := range g.NumFields() {
		n := g.Field(i)
		if seen[n.Name()] || n.Name() == "" {
			return nil, s.refuse("has members of one name, or without a name")
		}
		seen[n.Name()] = true
		c, err := s.field(n, at, depth+1)
		if err != nil {
			return nil, err
		}
		children = append(children, c)
	}
	return made(g.Name(), schema.Struct, at, children...), nil
}

// list gives the shape of a list whose elements are a repeated node.
func (s *shaper) list(name string, repeated pqschema.Node, at level, depth int) (*Shape, error) {
	in := at.element()
	item, err := s.value(repeated, in, depth+1)
	return s.listOf(name, item, at, in, err)
}

func (s *shaper) listOf(name string, item *Shape, at, in level, err error) (*Shape, error) {
	if err != nil {
		return nil, err
	}
	item.Node.Name = "item"
	out := made(name, schema.List, at, item)
	out.Element = in.position
	return out, nil
}

// annotated gives the shape of a list of two or three levels, by the rules of Parquet's LogicalTypes for files of old writers.
func (s *shaper) annotated(g *pqschema.GroupNode, at level, depth int) (*Shape, error) {
	if g.NumFields() != 1 || g.Field(0).RepetitionType() != parquet.Repetitions.Repeated {
		return nil, s.refuse("is a list that has not one repeated member")
	}
	r, ok := g.Field(0).(*pqschema.GroupNode)
	if !ok || r.NumFields() != 1 || r.Name() == "array" || r.Name() == g.Name()+"_tuple" || !r.LogicalType().IsNone() {
		return s.list(g.Name(), g.Field(0), at, depth)
	}
	in := at.element()
	item, err := s.field(r.Field(0), in, depth+1)
	return s.listOf(g.Name(), item, at, in, err)
}

func (s *shaper) mapOf(g *pqschema.GroupNode, at level, depth int) (*Shape, error) {
	var pair *pqschema.GroupNode
	if g.NumFields() == 1 {
		pair, _ = g.Field(0).(*pqschema.GroupNode)
	}
	if pair == nil || pair.RepetitionType() != parquet.Repetitions.Repeated || pair.NumFields() != 2 || pair.Field(0).RepetitionType() != parquet.Repetitions.Required {
		return nil, s.refuse("is a map without pairs of a required key and a value")
	}
	in := at.element()
	var children []*Shape
	for i, name := range []string{"key", "value"} {
		c, err := s.field(pair.Field(i), in, depth+1)
		if err != nil {
			return nil, err
		}
		c.Node.Name = name
		children = append(children, c)
	}
	out := made(g.Name(), schema.Map, at, children...)
	out.Element = in.position
	return out, nil
}
