package catalog

import (
	"fmt"
	"slices"
	"strings"
)

// shownNames is how many names an error suggests.
const shownNames = 3

// nearest lists the names closest to what was asked for, as words for an error.
func nearest[T fmt.Stringer](asked string, there []T) string {
	type candidate struct {
		text     string
		distance int
	}
	candidates := make([]candidate, len(there))
	for i, n := range there {
		candidates[i] = candidate{n.String(), editDistance(asked, n.String())}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return a.distance - b.distance })
	var words []string
	for _, c := range candidates[:min(shownNames, len(candidates))] {
		words = append(words, c.text)
	}
	return strings.Join(words, ", ")
}

// editDistance is Levenshtein's.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
