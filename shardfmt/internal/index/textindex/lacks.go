package textindex

import (
	"bytes"
	"context"
	"fmt"

	"github.com/shardcat/shardcat/internal/ranges"
)

// Lacks compares an index with one that was made of the values of the same records, and describes what it lacks: a
// record in the lists of a term, "" if nothing. Lists that name other records besides, as approximate ranges do, lack nothing. Both
// are read once, from start to end. An index that is not as it must be is a corrupt.ErrCorrupt.
func Lacks(ctx context.Context, stored, made Part, o JoinOptions) (string, error) {
	if o.Memory <= 0 {
		o.Memory = DefaultMemory
	}
	have, err := newGroups(ctx, stored, o)
	if err != nil {
		return "", err
	}
	want, err := newGroups(ctx, made, o)
	if err != nil {
		return "", err
	}
	exact := have.exact && want.exact
	var has *group
	for {
		w, err := want.next(ctx, exact)
		if err != nil || w == nil {
			return "", err
		}
		for has == nil || has.compare(w) < 0 {
			if has, err = have.next(ctx, exact); err != nil {
				return "", err
			}
			if has == nil {
				break
			}
		}
		if has == nil || has.compare(w) != 0 {
			return fmt.Sprintf("the term %q is missing", w.term), nil
		}
		for field, rows := range w.rows {
			if missing, lacks := firstMissing(has.rows[field], rows); lacks {
				return fmt.Sprintf("the term %q lacks record %d", w.term, missing), nil
			}
		}
	}
}

// firstMissing is the first position of want that is not in have.
func firstMissing(have, want []Range) (missing uint64, lacks bool) {
	i := 0
	for _, r := range want {
		for at := r.Start; at < r.End; {
			for i < len(have) && have[i].End <= at {
				i++
			}
			if i == len(have) || have[i].Start > at {
				return at, true
			}
			at = have[i].End
		}
	}
	return 0, false
}

// groups goes through the terms of an index, those that differ in case only together where the case of letters does not count.
type groups struct {
	*cursor
	more bool
}

// group is a term, and the records of its lists by field.
type group struct {
	upper, term []byte
	exact       bool
	rows        map[uint32][]Range
}

func (g *group) compare(other *group) int {
	if c := bytes.Compare(g.upper, other.upper); c != 0 || !g.exact {
		return c
	}
	return bytes.Compare(g.term, other.term)
}

func newGroups(ctx context.Context, part Part, o JoinOptions) (*groups, error) {
	j, err := newJoin(ctx, []Part{part}, o)
	if err != nil {
		return nil, err
	}
	if len(j.cursors) == 0 {
		return &groups{cursor: &cursor{exact: true}}, nil
	}
	return &groups{cursor: j.cursors[0], more: true}, nil
}

// next gives the next term, nil behind the last one.
func (g *groups) next(ctx context.Context, exact bool) (*group, error) {
	if !g.more {
		return nil, nil
	}
	out := &group{upper: bytes.Clone(g.upper), term: bytes.Clone(g.last), exact: exact, rows: map[uint32][]Range{}}
	lists := map[uint32][][]Range{}
	for g.more && bytes.Equal(g.upper, out.upper) && (!exact || bytes.Equal(g.last, out.term)) {
		e := &g.leaves[0].entries[g.entry]
		for i := range e.lists {
			l := &e.lists[i]
			field, known := g.part.Fields[l.field]
			if int(l.stripe) >= g.part.Stripes || !known {
				return nil, g.terms.Corrupt("a list of field %d in stripe %d, of %d", l.field, l.stripe, g.part.Stripes)
			}
			rows, err := g.rowsOf(ctx, l)
			if err != nil {
				return nil, err
			}
			lists[field] = append(lists[field], rows)
		}
		var err error
		if g.more, err = g.cursor.next(ctx); err != nil {
			return nil, err
		}
	}
	for field, all := range lists {
		out.rows[field] = ranges.Union(all...)
	}
	return out, nil
}

// rowsOf are the records of a list.
func (g *groups) rowsOf(ctx context.Context, l *listAt) ([]Range, error) {
	p := Posting{Kind: l.kind}
	end := l.end
	if l.kind != Positions {
		end -= (end - l.start) % 2 // half a range means nothing
	}
	check := ascending{kind: l.kind, limit: g.part.Records}
	for at := l.start; at < end; {
		values, err := g.valuesFrom(ctx, at, end)
		if err != nil {
			return nil, err
		}
		for _, v := range values {
			if !check.next(v) {
				return nil, g.positions.Corrupt("positions [%d, %d) do not ascend up to the %d records there are", l.start, l.end, g.part.Records)
			}
		}
		p.Values = append(p.Values, values...)
		at += uint64(len(values))
	}
	return p.Ranges(), nil
}
