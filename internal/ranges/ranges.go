// Package ranges has runs of rows, positions or bytes, and what can be done with lists of them.
package ranges

import (
	"cmp"
	"slices"
)

// Range is the run from Start to before End.
type Range struct{ Start, End uint64 }

// Len is the length of r.
func (r Range) Len() uint64 { return r.End - r.Start }

// Union is what is in any of some lists, each of ascending ranges.
func Union(lists ...[]Range) []Range {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b Range) int { return cmp.Compare(a.Start, b.Start) })
	out := all[:0]
	for _, r := range all {
		if n := len(out); n > 0 && r.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, r.End)
		} else if r.Start < r.End {
			out = append(out, r)
		}
	}
	return out
}

// Intersect is what is in both of two lists of ascending, disjoint ranges.
func Intersect(a, b []Range) (out []Range) {
	for len(a) > 0 && len(b) > 0 {
		r := Range{max(a[0].Start, b[0].Start), min(a[0].End, b[0].End)}
		if r.Start < r.End {
			out = append(out, r)
		}
		if a[0].End < b[0].End {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return out
}
