package meta

import (
	"fmt"
	"strconv"
	"strings"
)

// FormatFieldIDs is the text of PropertyFieldIDs.
func FormatFieldIDs(ids []int) string {
	var b []byte
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(id), 10)
	}
	return string(b)
}

// ParseFieldIDs reads the text of PropertyFieldIDs; want is the number of nodes. Ids are positive and unique, except 0,
// which means that the node is not a column of a table.
func ParseFieldIDs(text string, want int) ([]int, error) {
	there := 0
	if text != "" {
		there = strings.Count(text, ",") + 1
	}
	if there != want {
		return nil, fmt.Errorf("property %s: %d ids for %d fields", PropertyFieldIDs, there, want)
	}
	ids := make([]int, 0, want)
	if want == 0 {
		return ids, nil
	}
	seen := make(map[int]bool, want)
	for part := range strings.SplitSeq(text, ",") {
		id, err := strconv.ParseUint(part, 10, 31)
		if err != nil || id != 0 && seen[int(id)] {
			return nil, fmt.Errorf("property %s: bad id %q", PropertyFieldIDs, part)
		}
		seen[int(id)] = true
		ids = append(ids, int(id))
	}
	return ids, nil
}
