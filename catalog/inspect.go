package catalog

import (
	"context"

	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/inspect"
	"github.com/shardcat/shardcat/urlresolve"
)

// Inspect describes a shard of the table, with the references that the table allows.
func (t *Table) Inspect(ctx context.Context, e *manifest.Entry, detail inspect.Detail) (*inspect.Inspection, error) {
	allow, err := t.Allowed()
	if err != nil {
		return nil, err
	}
	return inspect.Shard(ctx, t.cat.client, e.Path, inspect.Options{
		Size: e.RootBytes, Detail: detail, Policy: urlresolve.Policy{Allow: allow},
	})
}
