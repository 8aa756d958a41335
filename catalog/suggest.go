package catalog

import (
	"fmt"

	"github.com/shardcat/shardcat/internal/didyoumean"
)

// suggestNames lists the names closest to what was requested, as words for an error.
func suggestNames[T fmt.Stringer](asked string, there []T) string {
	names := make([]string, len(there))
	for i, n := range there {
		names[i] = n.String()
	}
	return didyoumean.Names(asked, names)
}
