package filter

import (
	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/internal/ranges"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// QuestionKind reports what a Question asks.
type QuestionKind uint8

// The kinds of questions.
const (
	// Equal requests rows whose value is one of Values.
	Equal QuestionKind = iota
	// HasTerm requests rows in which Text stands between borders of words, HasTermPrefix for those in which it
	// stands behind one; in any case.
	HasTerm
	HasTermPrefix
	// Within requests rows whose value lies between Low and High.
	Within
	// All requests rows that answer all of several questions about different fields, Parts; it has no path. Each part is called by itself, too.
	All
)

// Question is a test of one field that an index may answer.
type Question struct {
	// Path leads from the top-level field to the one that is tested.
	Path   []*schema.Node
	Kind   QuestionKind
	Text   []byte
	Values []Value
	// Low and High bound the values of Within, nil where there is no bound; a bound that is Out is not itself requested.
	Low, High       *Value
	LowOut, HighOut bool
	// Parts of All, each of kind Equal or Within.
	Parts []Question
	// Joined: the question is a part of an All that was answered.
	Joined bool
}

// Range is the rows from Start to before End.
type Range = ranges.Range

// Candidates asks an index about the tests of the expression, and puts the answers together: rows, by ascending and
// disjoint ranges, outside of which the expression is true for none. known is false if the answers leave all rows
// possible. ask answers in the same way for one test.
func (b *Bound) Candidates(ask func(Question) (rows []Range, known bool, err error)) (rows []Range, known bool, err error) {
	return candidates(b.root, ask)
}

// Asks reports whether the expression has a test that an index may answer.
func (b *Bound) Asks() bool {
	asked := false
	candidates(b.root, func(Question) ([]Range, bool, error) {
		asked = true
		return nil, false, nil
	})
	return asked
}

type askFunc = func(Question) ([]Range, bool, error)

func candidates(p predicate, ask askFunc) (rows []Range, known bool, err error) {
	switch p := p.(type) {
	case andPredicate:
		return allCandidates(p, ask)
	case orPredicate:
		left, known, err := candidates(p.left, ask)
		if err != nil || !known {
			return nil, false, err
		}
		right, known, err := candidates(p.right, ask)
		return ranges.Union(left, right), known, err
	case leafPredicate:
		if q, ok := p.question(); ok {
			return ask(q)
		}
	}
	return nil, false, nil
}

// allCandidates are rows that all sides of a conjunction leave possible. Bounds of one field are one question.
func allCandidates(p andPredicate, ask askFunc) (rows []Range, known bool, err error) {
	sides, parts := together(conjuncts(p, nil))
	joined := false
	if len(parts) > 1 {
		sides = append([]asking{func(ask askFunc) ([]Range, bool, error) {
			rows, known, err := ask(Question{Kind: All, Parts: parts})
			joined = known
			return rows, known, err
		}}, sides...)
	}
	for _, s := range sides {
		more, also, err := s(func(q Question) ([]Range, bool, error) {
			q.Joined = joined && q.Kind != All
			return ask(q)
		})
		if err != nil {
			return nil, false, err
		}
		switch {
		case also && known:
			rows = ranges.Intersect(rows, more)
		case also:
			rows, known = more, true
		}
		if known && len(rows) == 0 {
			return nil, true, nil
		}
	}
	return rows, known, nil
}

// conjuncts are the sides of a conjunction of conjunctions.
func conjuncts(p predicate, out []predicate) []predicate {
	if and, ok := p.(andPredicate); ok {
		return conjuncts(and.right, conjuncts(and.left, out))
	}
	return append(out, p)
}

// asking asks the questions of one side of a conjunction.
type asking func(askFunc) ([]Range, bool, error)

// together makes one question of all bounds of a field, in the place of the first one. parts are the questions of sides that are one test each, of
// values.
func together(sides []predicate) (out []asking, parts []Question) {
	bounds := map[*boundField]*Question{}
	var whole []func() Question
	for _, p := range sides {
		leaf, ok := p.(leafPredicate)
		if ok {
			if q, asks := leaf.question(); asks && q.Kind == Within {
				if first := bounds[leaf.field]; first != nil {
					first.narrow(leaf.test.(*compareTest).c, &q)
					continue
				}
				bounds[leaf.field] = &q
				out = append(out, func(ask askFunc) ([]Range, bool, error) { return ask(q) })
				whole = append(whole, func() Question { return q })
				continue
			} else if asks && q.Kind == Equal {
				whole = append(whole, func() Question { return q })
			}
		}
		out = append(out, func(ask askFunc) ([]Range, bool, error) { return candidates(p, ask) })
	}
	for _, q := range whole { // whose bounds are narrow by now
		parts = append(parts, q())
	}
	return out, parts
}

// narrow takes the bounds of another question in, where they are the narrower ones.
func (q *Question) narrow(c class, more *Question) {
	if more.Low != nil && (q.Low == nil || compareValues(c, more.Low, q.Low) >= 0) {
		q.LowOut = more.LowOut || q.LowOut && q.Low != nil && compareValues(c, more.Low, q.Low) == 0
		q.Low = more.Low
	}
	if more.High != nil && (q.High == nil || compareValues(c, more.High, q.High) <= 0) {
		q.HighOut = more.HighOut || q.HighOut && q.High != nil && compareValues(c, more.High, q.High) == 0
		q.High = more.High
	}
}

// compareValues compares two values that are ordered.
func compareValues(c class, a, b *Value) int {
	o := operand{Value: *b}
	result, _ := o.compare(c, a)
	return result
}

// question is what an index may be sent a request for a test.
func (p leafPredicate) question() (q Question, ok bool) {
	q.Path = p.field.nodes
	switch t := p.test.(type) {
	case *textTest:
		q.Text = t.want
		switch t.kind {
		case hasTerm:
			q.Kind = HasTerm
		case hasPrefix:
			q.Kind = HasTermPrefix
		default:
			return q, false
		}
		return q, true
	case *compareTest:
		if t.op == opEq {
			q.addValue(&t.lit)
			return q, true
		}
		return q, t.bounds(&q)
	case *inTest:
		for i := range t.any {
			q.addValue(&t.any[i])
		}
		return q, true
	}
	return q, false
}

// bounds makes a question of <, <=, > and >=; of a literal that no value or any value satisfies, or whose values have no order
// that an index keeps, it makes none.
func (t *compareTest) bounds(q *Question) bool {
	o := &t.lit
	if t.op == opNe || o.null || o.beyond != 0 || t.c == decimalClass && decimal.From(o.Bytes).IsNaN() || t.c == floatClass && o.Float != o.Float {
		return false
	}
	q.Kind = Within
	v := o.Value
	switch t.op {
	case opLt: // below 2½ is up to 2
		q.High, q.HighOut = &v, !o.fraction
	case opLe:
		q.High = &v
	default: // above 2½ is above 2
		q.Low, q.LowOut = &v, t.op == opGt || o.fraction
	}
	return true
}

// addValue adds a literal, unless nothing equals it.
func (q *Question) addValue(o *operand) {
	if !o.null && !o.fraction && o.beyond == 0 {
		q.Values = append(q.Values, o.Value)
	}
}
