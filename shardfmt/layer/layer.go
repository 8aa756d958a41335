// Package layer reads and writes LAYER files, version 5: columns of sorted rows, each a key and an auxiliary value, with an
// index over the keys. It looks single keys up and warms the index blocks; whole files are read and written through package
// fileio. docs/reference/formats/layer.md reports what is read, written, refused and lost.
package layer

import (
	"context"
	"io"

	"github.com/shardcat/shardcat/shardfmt/fileio/fileformat"
	impl "github.com/shardcat/shardcat/shardfmt/internal/layer"
)

// The compressions. LZ4 and Zstd came after version 5 without a new number.
const Snappy = impl.Snappy

// File is an open layer file. Its methods may be called concurrently.
type File = impl.File

// Setting is one key and its value.
type Setting = impl.Setting

// Span is the keys from Low to High, both included.
type Span = impl.Span

// Value is a key or an auxiliary value. Which of its parts counts depends on the kind.
type Value = impl.Value

// WriteOptions determine how a file is written. The zero value writes what the database this format comes from does,
// without compression and filter.
type WriteOptions = impl.WriteOptions

// Writer writes a file in one pass: nothing is written twice. It holds a data block of every column and an index
// block of every level of its tree.
type Writer = impl.Writer

// NewWriter begins a file. types are those of the columns: key and auxiliary value separated by a comma, columns by a slash,
// as in "i64,string/u64,()".
func NewWriter(w io.Writer, types string, o WriteOptions) (*Writer, error) {
	pairs, err := impl.ParseTypes(types)
	if err != nil {
		return nil, err
	}
	return impl.NewWriter(w, pairs, o)
}

// Open reads the trailer: one request. types are those of the columns as NewWriter takes them, which most files do not state;
// "" takes what the file states, and without that only the structure can be read.
func Open(ctx context.Context, st fileformat.Store, url, types string) (*File, error) {
	var pairs []impl.Pair
	if types != "" {
		var err error
		if pairs, err = impl.ParseTypes(types); err != nil {
			return nil, err
		}
	}
	return impl.Open(ctx, st, url, pairs)
}
