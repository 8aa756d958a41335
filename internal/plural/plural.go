// Package plural writes numbers with their nouns.
package plural

import (
	"fmt"
	"strings"
)

// Count returns a number with its noun: 1 shard, 2 shards, 0 indexes, 3 entries.
func Count[N int | int64 | uint64 | uint32](n N, noun string) string {
	return fmt.Sprintf("%d %s", n, Noun(n, noun))
}

// Noun returns the noun as it stands behind a number.
func Noun[N int | int64 | uint64 | uint32](n N, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "x"):
		noun += "es"
	case strings.HasSuffix(noun, "y"):
		noun = strings.TrimSuffix(noun, "y") + "ies"
	default:
		noun += "s"
	}
	return noun
}
