package textindex

import (
	"cmp"
	"slices"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Answer is what several postings say together.
type Answer struct {
	// Certain are the records that hold a term, Possible those that may; neither holds what the other does.
	Certain, Possible []PositionSet
}

// PositionSet is records of one field in one stripe, ascending.
type PositionSet struct {
	Stripe    uint16
	Field     uint32
	Positions []uint64
}

// maxAnswer bounds the records that Combine lists one by one.
const maxAnswer = 64 << 20

// Combine puts the postings of entries together, by stripe and then by field. More than 64 Mi records are refused: they
// are listed one by one.
func Combine(entries []Entry) (a Answer, err error) {
	type place struct {
		stripe uint16
		field  uint32
	}
	sets := map[place]*[2][]uint64{}
	var places []place
	left := uint64(maxAnswer)
	for _, e := range entries {
		for _, p := range e.Postings {
			at := place{p.Stripe, p.Field}
			if sets[at] == nil {
				sets[at] = new([2][]uint64)
				places = append(places, at)
			}
			which := 0
			if p.Kind == ApproximateRanges {
				which = 1
			}
			for _, r := range p.Ranges() {
				if r.End-r.Start > left {
					return a, corrupt.Unsupported(-1, "a result of more than %d records", maxAnswer)
				}
				left -= r.End - r.Start
				for v := r.Start; v < r.End; v++ {
					sets[at][which] = append(sets[at][which], v)
				}
			}
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.stripe, b.stripe), cmp.Compare(a.field, b.field))
	})
	for _, at := range places {
		certain, possible := distinct(sets[at][0]), distinct(sets[at][1])
		possible = slices.DeleteFunc(possible, func(v uint64) bool {
			_, in := slices.BinarySearch(certain, v)
			return in
		})
		a.Certain = appendSet(a.Certain, PositionSet{at.stripe, at.field, certain})
		a.Possible = appendSet(a.Possible, PositionSet{at.stripe, at.field, possible})
	}
	return a, nil
}

func distinct(v []uint64) []uint64 {
	slices.Sort(v)
	return slices.Compact(v)
}

func appendSet(to []PositionSet, s PositionSet) []PositionSet {
	if len(s.Positions) == 0 {
		return to
	}
	return append(to, s)
}
