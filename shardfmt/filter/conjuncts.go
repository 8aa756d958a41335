package filter

import (
	"slices"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Conjuncts are the parts of an expression that must all be true for it to be true, at least one: a row that one of them
// rules out needs no look at the fields of the others. They are in the order in which they were written, but those that read
// the same top-level fields are one.
func (b *Bound) Conjuncts() []*Bound {
	var out []*Bound
	var split func(p predicate, e Expr)
	split = func(p predicate, e Expr) {
		if and, ok := p.(andPredicate); ok {
			if bound, ok := e.(*Bound); ok {
				e = bound.source
			}
			if both, ok := e.(andExpr); ok {
				split(and.left, both.Left)
				split(and.right, both.Right)
				return
			}
		}
		part := &Bound{root: p, source: e, schema: b.schema}
		part.addFields(p)
		for _, other := range out {
			if sameTops(other, part) {
				other.root, other.source = andPredicate{other.root, p}, andExpr{other.source, e}
				other.addFields(p)
				return
			}
		}
		out = append(out, part)
	}
	split(b.root, b.source)
	return out
}

// Tops are the top-level fields that the expression reads, each once.
func (b *Bound) Tops() []*schema.Node {
	var out []*schema.Node
	for _, f := range b.fields {
		if !slices.Contains(out, f.nodes[0]) {
			out = append(out, f.nodes[0])
		}
	}
	return out
}

func sameTops(a, b *Bound) bool {
	x, y := a.Tops(), b.Tops()
	return len(x) == len(y) && !slices.ContainsFunc(x, func(n *schema.Node) bool { return !slices.Contains(y, n) })
}

// addFields adds the fields that a predicate reads, each once.
func (b *Bound) addFields(p predicate) {
	var field *boundField
	switch p := p.(type) {
	case andPredicate:
		b.addFields(p.left)
		b.addFields(p.right)
		return
	case orPredicate:
		b.addFields(p.left)
		b.addFields(p.right)
		return
	case notPredicate:
		b.addFields(p.x)
		return
	case nullPredicate:
		field = p.field
	case leafPredicate:
		field = p.field
	}
	if !slices.Contains(b.fields, field) {
		b.fields = append(b.fields, field)
	}
}
