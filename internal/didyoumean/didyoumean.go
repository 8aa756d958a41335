// Package didyoumean finds what was meant by a name that is not there.
package didyoumean

import (
	"slices"
	"strings"
)

// shown is how many names an error suggests.
const shown = 3

// Names lists the names closest to what was requested, as words for an error: "a, b, c".
func Names(asked string, there []string) string {
	type candidate struct {
		text     string
		distance int
	}
	candidates := make([]candidate, len(there))
	for i, name := range there {
		candidates[i] = candidate{name, Distance(asked, name)}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return a.distance - b.distance })
	var words []string
	for _, c := range candidates[:min(shown, len(candidates))] {
		words = append(words, c.text)
	}
	return strings.Join(words, ", ")
}

// Distance is Levenshtein's, in bytes.
func Distance(a, b string) int {
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
