package filter

import (
	"github.com/shardcat/shardcat/internal/ranges"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// QuestionKind says what a Question asks.
type QuestionKind uint8

// The kinds of questions.
const (
	// Equal asks for rows whose value is one of Values.
	Equal QuestionKind = iota
	// HasTerm asks for rows in which Text stands between borders of words, HasTermPrefix for those in which it
	// stands behind one; in any case.
	HasTerm
	HasTermPrefix
)

// Question is a test of one field that an index may answer.
type Question struct {
	// Path leads from the top-level field to the one that is tested.
	Path   []*schema.Node
	Kind   QuestionKind
	Text   []byte
	Values []Value
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

func candidates(p predicate, ask func(Question) ([]Range, bool, error)) (rows []Range, known bool, err error) {
	switch p := p.(type) {
	case andPredicate:
		return bothCandidates(p, ask)
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

// bothCandidates are rows that both sides leave possible.
func bothCandidates(p andPredicate, ask func(Question) ([]Range, bool, error)) (rows []Range, known bool, err error) {
	left, known, err := candidates(p.left, ask)
	if err != nil || known && len(left) == 0 {
		return nil, known, err
	}
	right, also, err := candidates(p.right, ask)
	switch {
	case err != nil || !also:
		return left, known, err
	case !known:
		return right, true, nil
	}
	return ranges.Intersect(left, right), true, nil
}

// question is what an index may be asked for a test.
func (p leafPredicate) question() (q Question, ok bool) {
	q.Path = p.field.nodes
	switch t := p.test.(type) {
	case *textTest:
		q.Text = t.want
		switch t.kind {
		case Has:
			q.Kind = HasTerm
		case HasPrefix:
			q.Kind = HasTermPrefix
		default:
			return q, false
		}
		return q, true
	case *compareTest:
		if t.op != Eq {
			return q, false
		}
		q.addValue(&t.lit)
		return q, true
	case *inTest:
		for i := range t.any {
			q.addValue(&t.any[i])
		}
		return q, true
	}
	return q, false
}

// addValue adds a literal, unless nothing equals it.
func (q *Question) addValue(o *operand) {
	if !o.null && !o.fraction && o.beyond == 0 {
		q.Values = append(q.Values, o.Value)
	}
}
