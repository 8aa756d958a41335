// Package layer reads and writes layer files: sorted columns, each value of which owns a group of rows of the next.
package layer

import "github.com/shardcat/shardcat/shardfmt/fileformat"

// Format is the format as the other packages see it.
var Format = &fileformat.Format{
	Name:     "layer",
	Suffixes: []string{".feldera", ".layer"},
	Sniff: func(_, tail []byte) bool {
		return len(tail) >= 512 && string(tail[len(tail)-508:len(tail)-504]) == "LFFT"
	},
	Missing: "its reader and writer are not there yet",
}
