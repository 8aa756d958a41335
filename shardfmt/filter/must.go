package filter

// MustMatch reports whether every row of a scope is certain to be selected, given the statistics of the fields by
// number (nil where none are known). True is proof, false is none.
//
// A row is not selected where the expression is false or unknown, so besides being never false it must read no
// null: neither of a field nor of a literal. Counts that are not known, and members of structs, whose own counts
// do not show the nulls of what they lie in, prove nothing.
func (b *Bound) MustMatch(stats func(id uint32) *Stats) bool {
	return !b.root.possible(stats).canBeFalse && neverUnknown(b.root, stats)
}

func neverUnknown(p predicate, stats func(uint32) *Stats) bool {
	switch p := p.(type) {
	case andPredicate:
		return neverUnknown(p.left, stats) && neverUnknown(p.right, stats)
	case orPredicate:
		return neverUnknown(p.left, stats) && neverUnknown(p.right, stats)
	case notPredicate:
		return neverUnknown(p.x, stats)
	case nullPredicate:
		return true
	case leafPredicate:
		s := stats(p.field.leaf().ID)
		return s != nil && s.NullsKnown && s.Nulls == 0 && len(p.field.nodes) == 1 && !p.test.unknown()
	}
	return false
}

// Equals gives the bytes that the one field which the expression reads has in every row that it is true for; ok is false if it is
// more, or something else, than a comparison by = of a field of byte strings.
func (b *Bound) Equals() (want []byte, ok bool) {
	leaf, ok := b.root.(leafPredicate)
	if !ok {
		return nil, false
	}
	t, ok := leaf.test.(*compareTest)
	if !ok || t.op != opEq || t.c != bytesClass || t.lit.null {
		return nil, false
	}
	return t.lit.Bytes, true
}
