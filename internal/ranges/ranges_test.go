package ranges

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Of random lists the union and the intersection have the rows that one by one are in any, or in both.
func TestUnionAndIntersect(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	list := func() (out []Range) {
		for at := uint64(0); at < 60; {
			start := at + r.Uint64N(9)
			at = start + r.Uint64N(7)
			out = append(out, Range{start, at})
			at++
		}
		return out
	}
	has := func(list []Range, i uint64) bool {
		return slices.ContainsFunc(list, func(r Range) bool { return r.Start <= i && i < r.End })
	}
	for range 200 {
		a, b := list(), list()
		union, both := Union(a, b), Intersect(a, b)
		for i := range uint64(80) {
			if has(union, i) != (has(a, i) || has(b, i)) || has(both, i) != (has(a, i) && has(b, i)) {
				t.Fatalf("row %d of %v and %v: union %v, intersection %v", i, a, b, union, both)
			}
		}
		for i, x := range union {
			if x.Len() == 0 || i > 0 && x.Start <= union[i-1].End {
				t.Fatalf("the union %v is not disjoint", union)
			}
		}
	}
}
