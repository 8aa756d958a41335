package filter

import (
	"errors"
	"fmt"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Bound is an expression tied to the fields of one schema, and an expression itself: where it is bound to the same schema again, it is used as
// it is. It may be used concurrently.
type Bound struct {
	root   predicate
	fields []*boundField
	source Expr
	schema *schema.Schema
	// charge is called before values are compared, with the number of comparisons; nil is none.
	charge func(comparisons uint64) error
}

// Charged is the expression whose Select calls charge before it compares values, at least once for some thousand comparisons of a
// value with a literal. An error ends Select.
func (b *Bound) Charged(charge func(comparisons uint64) error) *Bound {
	out := *b
	out.charge = charge
	return &out
}

// boundField is one field that the expression reads.
type boundField struct {
	path Path
	// nodes leads from the top-level field to the one that is read.
	nodes []*schema.Node
}

func (f *boundField) leaf() *schema.Node { return f.nodes[len(f.nodes)-1] }

// predicate is one node of the bound tree.
type predicate interface {
	// eval writes the truth of each row.
	eval(rows *rows, out truths) error
	// possible reports which answers the statistics leave open.
	possible(stats func(id uint32) *Stats) outcomes
}

type (
	andPredicate  struct{ left, right predicate }
	orPredicate   struct{ left, right predicate }
	notPredicate  struct{ x predicate }
	nullPredicate struct{ field *boundField }
	leafPredicate struct {
		field *boundField
		test  test
	}
)

// Bind ties an expression to a schema: every field must exist, every literal must fit its field. An expression that is bound to this very
// schema is returned as it is.
func Bind(e Expr, s *schema.Schema) (*Bound, error) {
	if e == nil || s == nil {
		return nil, errors.New("filter: no expression, or no schema")
	}
	if bound, ok := e.(*Bound); ok {
		if bound.schema == s {
			return bound, nil
		}
		e = bound.source
	}
	b := newBinder(s)
	root, err := b.bind(e)
	if err != nil {
		return nil, err
	}
	return &Bound{root: root, fields: b.fields, source: e, schema: s}, nil
}

// Adapt ties the expression to another schema, in which its fields have other paths: paths[i] is there the path of Paths()[i]. Literals are not
// read again, so the result is false if a field is missing there or has another type.
func (b *Bound) Adapt(s *schema.Schema, paths []Path) (*Bound, bool) {
	there := newBinder(s)
	fields, names := map[*boundField]*boundField{}, map[string]Path{}
	for i, f := range b.fields {
		other, err := there.field(paths[i])
		if err != nil || !sameType(f.leaf(), other.leaf()) {
			return nil, false
		}
		fields[f], names[f.path.String()] = other, paths[i]
	}
	source := Rename(b.source, func(p Path) Path { return names[p.String()] })
	return &Bound{root: adapted(b.root, fields), fields: there.fields, source: source, schema: s, charge: b.charge}, true
}

// sameType reports whether values of two nodes are compared in the same way.
func sameType(a, b *schema.Node) bool {
	return a.Basic == b.Basic && a.Signed == b.Signed && a.Label() == b.Label() && a.FixedSize == b.FixedSize
}

// adapted is a predicate of other fields.
func adapted(p predicate, fields map[*boundField]*boundField) predicate {
	switch p := p.(type) {
	case andPredicate:
		return andPredicate{adapted(p.left, fields), adapted(p.right, fields)}
	case orPredicate:
		return orPredicate{adapted(p.left, fields), adapted(p.right, fields)}
	case notPredicate:
		return notPredicate{adapted(p.x, fields)}
	case nullPredicate:
		return nullPredicate{fields[p.field]}
	case leafPredicate:
		return leafPredicate{fields[p.field], p.test}
	}
	panic(fmt.Sprintf("filter: unknown predicate %T", p))
}

// String prints the expression as it was before it was bound.
func (b *Bound) String() string { return b.source.String() }

func (b *Bound) expr() {}

// Paths are the fields that the expression reads, each once.
func (b *Bound) Paths() []Path {
	out := make([]Path, len(b.fields))
	for i, f := range b.fields {
		out[i] = f.path
	}
	return out
}

// Nodes are the numbers of the fields that the expression reads.
func (b *Bound) Nodes() []uint32 {
	out := make([]uint32, len(b.fields))
	for i, f := range b.fields {
		out[i] = f.leaf().ID
	}
	return out
}

type binder struct {
	schema *schema.Schema
	fields []*boundField
	known  map[string]*boundField
}

func newBinder(s *schema.Schema) *binder {
	return &binder{schema: s, known: map[string]*boundField{}}
}

func (b *binder) bind(e Expr) (predicate, error) {
	switch e := e.(type) {
	case *Bound:
		if e.schema == b.schema && len(b.fields) == 0 {
			b.keep(e.fields)
			return e.root, nil
		}
		return b.bind(e.source)
	case andExpr:
		left, right, err := b.pair(e.Left, e.Right)
		return andPredicate{left, right}, err
	case orExpr:
		left, right, err := b.pair(e.Left, e.Right)
		return orPredicate{left, right}, err
	case notExpr:
		x, err := b.bind(e.X)
		return notPredicate{x}, err
	case nullExpr:
		field, err := b.field(e.Field)
		return nullPredicate{field}, err
	case truthExpr:
		return b.bind(compareExpr{e.Field, opEq, Literal{boolLiteral, "true"}})
	case compareExpr:
		return b.leaf(e.Field, func(n *schema.Node) (test, error) { return newCompareTest(n, e.Op, e.Value) })
	case inExpr:
		return b.leaf(e.Field, func(n *schema.Node) (test, error) { return newInTest(n, e.Values) })
	case likeExpr:
		return b.leaf(e.Field, func(n *schema.Node) (test, error) {
			t, err := onText(n, func(n *schema.Node) (test, error) { return newLikeTest(n, e.Pattern) })
			return t, unfitText(e.Pattern, err)
		})
	case textExpr:
		return b.leaf(e.Field, func(n *schema.Node) (test, error) {
			t, err := newTextTest(n, e)
			return t, unfitText(e.Term, err)
		})
	}
	return nil, fmt.Errorf("filter: %T is not an expression", e)
}

func (b *binder) pair(l, r Expr) (left, right predicate, err error) {
	if left, err = b.bind(l); err == nil {
		right, err = b.bind(r)
	}
	return left, right, err
}

// unfitText makes the error of a text operator one that is at its text.
func unfitText(text string, err error) error {
	if err == nil {
		return nil
	}
	return &BindError{literal: &Literal{kind: stringLiteral, text: text}, err: err}
}

func (b *binder) leaf(p Path, build func(*schema.Node) (test, error)) (predicate, error) {
	field, err := b.field(p)
	if err != nil {
		return nil, err
	}
	t, err := build(field.leaf())
	if unfit := new(BindError); errors.As(err, &unfit) {
		unfit.Field = p
	} else if err != nil {
		err = &BindError{Field: p, err: err}
	}
	return leafPredicate{field, t}, err
}

// field finds a path in the schema: by name, then by alias, through structs only.
func (b *binder) field(p Path) (*boundField, error) {
	key := p.String()
	if f, ok := b.known[key]; ok {
		return f, nil
	}
	f := &boundField{path: p}
	level := b.schema.Fields
	for i, name := range p {
		n := childNamed(level, name)
		if n == nil {
			return nil, &BindError{Field: p, member: i, err: fmt.Errorf("filter: unknown column %s%s", p[:i+1], suggestion(level))}
		}
		f.nodes = append(f.nodes, n)
		if i+1 < len(p) && n.Basic != schema.Struct {
			return nil, &BindError{Field: p, member: i + 1, err: fmt.Errorf("filter: field %s is not a struct, it has no member %q", p[:i+1], p[i+1])}
		}
		level = n.Children
	}
	b.keep([]*boundField{f})
	return f, nil
}

// keep adds fields that are found again by their paths.
func (b *binder) keep(fields []*boundField) {
	for _, f := range fields {
		b.known[f.path.String()] = f
	}
	b.fields = append(b.fields, fields...)
}

func childNamed(level []*schema.Node, name string) *schema.Node {
	for _, n := range level {
		if n.Name == name {
			return n
		}
	}
	for _, n := range level {
		for _, alias := range n.Aliases {
			if alias == name {
				return n
			}
		}
	}
	return nil
}

// maxSuggested names are listed when a field is not found.
const maxSuggested = 12

func suggestion(level []*schema.Node) string {
	s := ""
	for i, n := range level {
		if n.Internal != "" {
			continue
		}
		if i == maxSuggested {
			return s + ", …"
		}
		if s == "" {
			s = "; the fields are "
		} else {
			s += ", "
		}
		s += quoteName(n.Name)
	}
	return s
}
