package compaction

import (
	"context"
	"fmt"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/manifest"
)

// rebuild writes the live rows of a group's inputs as new shards by the table's schema, and commits them in the inputs' place.
func rebuild(ctx context.Context, t *catalog.Table, g *Group, policy Policy, o Options) (*Result, error) {
	order, err := policy.order()
	if err != nil {
		return nil, err
	}
	j, before, err := t.BeginJob(ctx, catalog.JobCompact, o.JobID, g.Inputs, t.Outputs)
	if err != nil {
		return nil, err
	}
	if before != nil {
		return &Result{Mode: Rebuild, SnapshotID: before.SnapshotID, JobID: o.JobID, Before: true}, nil
	}
	written, err := j.Rewrite(ctx, g.entries(), catalog.RewriteOptions{ShardRows: policy.TargetRecords, OrderBy: order})
	var committed *catalog.Committed
	if err == nil {
		committed, err = commitRebuilt(ctx, t, j, g, written, o)
	}
	if err != nil {
		j.Fail(ctx, written.Objects)
		return nil, err
	}
	result := &Result{
		Mode: Rebuild, Inputs: len(g.Inputs), Records: g.Records, BytesMoved: g.BytesMoved, SnapshotID: committed.SnapshotID,
		JobID: j.ID(), Before: committed.Before,
	}
	for _, e := range written.Entries {
		result.Output = e.Path
	}
	return result, nil
}

func commitRebuilt(ctx context.Context, t *catalog.Table, j *catalog.Job, g *Group, w *catalog.Rewritten, o Options) (*catalog.Committed, error) {
	if w.Rows != g.Records {
		return nil, fmt.Errorf("%w: %d live records were rebuilt into %d", ErrContent, g.Records, w.Rows)
	}
	if o.Check {
		if err := checkContent(ctx, t, g, w.Entries); err != nil {
			return nil, err
		}
	}
	if err := o.passFence(ctx); err != nil {
		return nil, err
	}
	return j.Replace(ctx, g.Inputs, w.Entries)
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
