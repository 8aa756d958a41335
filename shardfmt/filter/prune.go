package filter

import (
	"bytes"
	"cmp"
)

// Stats is what is known of a field's values in some scope: a shard, a stripe, a block.
// The zero value knows nothing.
type Stats struct {
	// Positions and Nulls count values where NullsKnown is set.
	Positions, Nulls uint64
	NullsKnown       bool
	// NoNaNs: it is certain that no value is a NaN. Min and Max never cover NaNs.
	NoNaNs bool
	// Min and Max bound the values (NaN aside), nil where unknown. An exclusive bound is not itself a value.
	Min, Max                   *Value
	MinExclusive, MaxExclusive bool
	// MayContain, if not nil, answers false only if the value occurs nowhere in the scope.
	MayContain func(Value) bool
}

// MayMatch reports whether any row of a scope can be selected, given the statistics of the fields by number
// (nil where none are known). False is proof, true is none.
func (b *Bound) MayMatch(stats func(id uint32) *Stats) bool {
	return b.root.possible(stats).canBeTrue
}

// outcomes are the answers that statistics leave open.
type outcomes struct{ canBeTrue, canBeFalse bool }

var anything = outcomes{true, true}

func (p andPredicate) possible(stats func(uint32) *Stats) outcomes {
	l, r := p.left.possible(stats), p.right.possible(stats)
	return outcomes{l.canBeTrue && r.canBeTrue, l.canBeFalse || r.canBeFalse}
}

func (p orPredicate) possible(stats func(uint32) *Stats) outcomes {
	l, r := p.left.possible(stats), p.right.possible(stats)
	return outcomes{l.canBeTrue || r.canBeTrue, l.canBeFalse && r.canBeFalse}
}

func (p notPredicate) possible(stats func(uint32) *Stats) outcomes {
	x := p.x.possible(stats)
	return outcomes{x.canBeFalse, x.canBeTrue}
}

func (p nullPredicate) possible(stats func(uint32) *Stats) outcomes {
	s := stats(p.field.leaf().ID)
	if s == nil || !s.NullsKnown || len(p.field.nodes) > 1 {
		// A member is also null where its struct is, which its own counts need not show.
		return anything
	}
	return outcomes{canBeTrue: s.Nulls > 0, canBeFalse: s.Nulls < s.Positions}
}

func (p leafPredicate) possible(stats func(uint32) *Stats) outcomes {
	s := stats(p.field.leaf().ID)
	if s == nil {
		return anything
	}
	if s.NullsKnown && s.Nulls >= s.Positions {
		return outcomes{}
	}
	o := p.test.possible(s)
	if p.test.unknown() {
		o.canBeFalse = false
	}
	return o
}

func (t *compareTest) possible(s *Stats) outcomes {
	if t.lit.null {
		return outcomes{}
	}
	o := t.withinRange(s)
	if t.c == floatClass && !s.NoNaNs {
		if t.op == opNe {
			o.canBeTrue = true
		} else {
			o.canBeFalse = true
		}
	}
	return o
}

// withinRange evaluates by the bounds alone.
func (t *compareTest) withinRange(s *Stats) outcomes {
	low, high := t.lit.against(t.c, s)
	switch t.op {
	case opLt:
		return outcomes{low.canBeBelow, high.canBeAbove || high.canBeEqual}
	case opLe:
		return outcomes{low.canBeBelow || low.canBeEqual, high.canBeAbove}
	case opGt:
		return outcomes{high.canBeAbove, low.canBeBelow || low.canBeEqual}
	case opGe:
		return outcomes{high.canBeAbove || high.canBeEqual, low.canBeBelow}
	}
	equal := low.canBeEqual && high.canBeEqual && !t.lit.fraction && t.lit.beyond == 0
	if equal && s.MayContain != nil {
		equal = s.MayContain(t.lit.Value)
	}
	different := low.canBeBelow || high.canBeAbove
	if t.op == opEq {
		return outcomes{equal, different}
	}
	return outcomes{different, equal}
}

// side reports where values can lie relative to a literal, seen from one bound.
type side struct{ canBeBelow, canBeEqual, canBeAbove bool }

var anySide = side{true, true, true}

// against compares the bounds of s with the literal. low answers "can a value be below or equal", by the lower
// bound; high answers "above or equal", by the upper one.
func (o *operand) against(c class, s *Stats) (low, high side) {
	low, high = anySide, anySide
	if s.Min != nil {
		if r, ordered := o.compare(c, s.Min); ordered {
			low = side{canBeBelow: r < 0, canBeEqual: r < 0 || r == 0 && !s.MinExclusive}
		}
	}
	if s.Max != nil {
		if r, ordered := o.compare(c, s.Max); ordered {
			high = side{canBeAbove: r > 0, canBeEqual: r > 0 || r == 0 && !s.MaxExclusive}
		}
	}
	return low, high
}

func (t *inTest) possible(s *Stats) outcomes {
	o := outcomes{canBeFalse: true}
	for i := range t.any {
		one := compareTest{t.c, opEq, t.any[i]}
		r := one.possible(s)
		o.canBeTrue = o.canBeTrue || r.canBeTrue
		o.canBeFalse = o.canBeFalse && r.canBeFalse
	}
	return o
}

// possible prunes by the prefix: all matches of "abc%" lie in ["abc", "abd").
func (t *likeTest) possible(s *Stats) outcomes {
	o := anything
	if t.prefix == "" {
		return o
	}
	if s.Max != nil && bytes.Compare(s.Max.Bytes, []byte(t.prefix)) < 0 {
		o.canBeTrue = false
	}
	if s.Min != nil {
		n := min(len(s.Min.Bytes), len(t.prefix))
		if cmp.Compare(string(s.Min.Bytes[:n]), t.prefix) > 0 {
			o.canBeTrue = false
		}
	}
	return o
}

func (t *textTest) possible(*Stats) outcomes { return anything }
