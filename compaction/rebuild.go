package compaction

import (
	"cmp"
	"context"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/manifest"
)

// rebuilt writes the live rows of a group's inputs as new shards by the table's schema: those of some stripes, by path, or all.
func rebuilt(ctx context.Context, j *Job, stripes map[string][]int) (*catalog.RewriteResult, error) {
	order, err := j.policy.order()
	if err != nil {
		return &catalog.RewriteResult{}, err
	}
	return j.run.Rewrite(ctx, j.group.entries(), catalog.RewriteOptions{
		ShardRows: cmp.Or(j.group.ShardRows, j.policy.TargetRecords), OrderBy: order, Stripes: stripes, Progress: func(rows int64) { j.tell(rows) },
	})
}

// entries are the inputs as far as reading them needs.
func (g *Group) entries() []*manifest.Entry {
	out := make([]*manifest.Entry, g.Inputs.Len())
	for i, in := range g.Inputs.all() {
		out[i] = &manifest.Entry{Path: g.Inputs.kept.path(in), Format: manifest.Format, RootBytes: in.root, Records: in.records}
		out[i].Private = manifest.Private{
			Created: in.created, Stripes: in.stripes, Deleted: in.deleted, StoredBytes: in.stored, Flags: in.flags, Shape: in.shape,
		}
	}
	return out
}
