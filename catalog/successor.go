package catalog

import (
	"context"

	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/urlresolve"
)

// succession is how a live shard is given a new root over the same stripes.
func (t *Table) succession(ctx context.Context, in *manifest.Entry) (input merge.Input, o merge.Options, err error) {
	allow, err := t.Allowed()
	if err != nil {
		return input, o, err
	}
	input = merge.Input{URL: in.Path, Size: in.RootBytes}
	if in.Flags.Has(manifest.Foreign) {
		input.FieldIDs, err = t.ShardFieldIDs(ctx, in.Path, in.RootBytes)
	}
	return input, merge.Options{
		AllowExternal: !t.owns(in.Path) || in.Flags.Has(manifest.Adopted), Policy: urlresolve.Policy{Allow: allow},
		// The shard is there; an object more must not make it unchangeable.
		Limits: merge.Limits{Objects: -1, Stripes: -1, RootBytes: -1, PropertyBytes: -1},
	}, err
}

// successor is the entry of a shard's new root, in the place of in.
func (t *Table) successor(ctx context.Context, in *manifest.Entry, done *merge.Result) (*manifest.Entry, error) {
	e, err := t.DescribeRoot(ctx, done.URL, done.Root)
	if err != nil {
		return nil, err
	}
	e.SpecID, e.Partition, e.SortOrderID = in.SpecID, in.Partition, in.SortOrderID
	e.Flags |= in.Flags & (manifest.Adopted | manifest.StandardProperties)
	return e, nil
}
