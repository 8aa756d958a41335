package compaction

import (
	"context"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/manifest"
)

// rebuilt writes the live rows of a group's inputs as new shards by the table's schema.
func rebuilt(ctx context.Context, run *catalog.Job, g *Group, policy Policy, progress func(rows int64)) (*catalog.Rewritten, error) {
	order, err := policy.order()
	if err != nil {
		return &catalog.Rewritten{}, err
	}
	return run.Rewrite(ctx, g.entries(), catalog.RewriteOptions{ShardRows: policy.TargetRecords, OrderBy: order, Progress: progress})
}

// entries are the inputs as far as reading them needs.
func (g *Group) entries() []*manifest.Entry {
	out := make([]*manifest.Entry, len(g.inputs))
	for i, in := range g.inputs {
		out[i] = &manifest.Entry{Path: g.Inputs[i], Format: manifest.Format, RootBytes: in.root, Records: in.records}
		out[i].Private = manifest.Private{
			Created: in.created, Stripes: int64(in.stripes), Deleted: in.deleted, StoredBytes: in.stored, Flags: in.flags, Shape: in.shape,
		}
	}
	return out
}
