package catalog

import (
	"context"
	"fmt"

	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/inspect"
	"github.com/shardcat/shardcat/urlresolve"
)

// Inspect describes a shard of the table, with the references that the table allows. maxMemory is the most bytes of a buffer, and
// of the root, that are read; 1 GiB if 0.
func (t *Table) Inspect(ctx context.Context, e *manifest.Entry, detail inspect.Detail, maxMemory int64) (*inspect.Inspection, error) {
	allow, err := t.Allowed()
	if err != nil {
		return nil, err
	}
	if maxMemory > 0 && e.RootBytes > maxMemory {
		return nil, fmt.Errorf("%s: %w: a root of %d bytes, more than the limit of %d", e.Path, corrupt.ErrUnsupported, e.RootBytes, maxMemory)
	}
	return inspect.Shard(ctx, t.cat.client, e.Path, inspect.Options{
		Size: e.RootBytes, Detail: detail, Policy: urlresolve.Policy{Allow: allow}, MaxMemory: maxMemory,
	})
}
