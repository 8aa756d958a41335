package catalog

import (
	"fmt"

	near "github.com/shardcat/shardcat/internal/nearest"
)

// nearest lists the names closest to what was asked for, as words for an error.
func nearest[T fmt.Stringer](asked string, there []T) string {
	names := make([]string, len(there))
	for i, n := range there {
		names[i] = n.String()
	}
	return near.To(asked, names)
}
