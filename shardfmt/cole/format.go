// Package cole reads and writes COLE files, version 1.0.
package cole

import "github.com/shardcat/shardcat/shardfmt/fileformat"

// Format is the format as the other packages see it.
var Format = &fileformat.Format{
	Name:     "cole",
	Suffixes: []string{".col", ".cole"},
	Sniff: func(_, tail []byte) bool {
		return len(tail) >= 12 && string(tail[len(tail)-12:len(tail)-8]) == "TOOF"
	},
	Missing: "its reader and writer are not there yet",
}
