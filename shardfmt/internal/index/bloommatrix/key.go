package bloommatrix

import (
	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/shardfmt/internal/index/tokenizer"
)

// TermKey is the hash of a term, the same for all its spellings. room is memory that is used again, and given back.
func TermKey(t, room []byte) (key uint64, _ []byte) {
	room = tokenizer.AppendUpper(room[:0], tokenizer.Regular(t))
	return xxh3.Hash(room), room
}
