// Package lance reads and writes Lance files and datasets.
package lance

import "github.com/shardcat/shardcat/shardfmt/fileformat"

// Format is the format as the other packages see it.
var Format = &fileformat.Format{
	Name:     "lance",
	Suffixes: []string{".lance"},
	Sniff: func(_, tail []byte) bool {
		return len(tail) >= 4 && string(tail[len(tail)-4:]) == "LANC"
	},
	Missing: "its reader and writer are not there yet",
}
