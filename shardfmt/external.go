package shardfmt

import (
	"context"
	"errors"
	"fmt"

	"github.com/shardcat/shardcat/shardfmt/internal/parquetref"
)

// ExternalOptions of WriteExternalParquet. The zero value is valid.
type ExternalOptions struct {
	// WriterOptions of the root. Layout, DataPrefix, SparseUnions and Workers' encoders do not apply: all that is written
	// is the root. StripeRows bounds how many row groups make a stripe, one at least. Indexes are refused: they may be
	// built once the shard is there.
	WriterOptions
	// Columns are those to take, by name; all if it is empty.
	Columns []string
	// AllowExternal permits files outside the folder of the root. Who reads the shard has to allow them, too.
	AllowExternal bool
	// MaxMemory bounds what reading the files may take, in bytes; DefaultMaxMemory if 0.
	MaxMemory int64
}

// WriteExternalParquet writes the root at url of a shard over Parquet files: it refers to their column chunks, and holds
// the statistics, Bloom filters and page maps of their values. Files are canonical URLs; they are read in one
// request for each column chunk, then once more to prove their checksums, and no byte of their values is copied. Lists, maps and structs
// are in the root without their values. Columns have the same types in all files, variants are refused. The files belong to whoever wrote them: nothing here ever deletes one, and the shard is
// readable only as long as they stay as they are.
func WriteExternalParquet(ctx context.Context, st WriteStore, url string, files []string, o ExternalOptions) (*Written, error) {
	if isNil(st) {
		return nil, fmt.Errorf("%w: a writer needs a store", ErrMissing)
	}
	if len(o.Indexes) > 0 {
		return nil, errors.New("indexes are not built with a shard over Parquet files: add them to the shard")
	}
	w, err := parquetref.Parquet(ctx, st, url, files, parquetref.Options{
		Write: o.room(), Columns: o.Columns, AllowExternal: o.AllowExternal, MaxMemory: o.MaxMemory,
	})
	if err != nil {
		return nil, err
	}
	return written(w), nil
}
