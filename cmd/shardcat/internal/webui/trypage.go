package webui

import (
	"context"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// trial is what a filter would rule out before anything is opened.
type trial struct {
	Error                        string
	Caret                        string // where in the filter the error is
	Total, ByPartition, ByBounds int
	Left                         int
	Bytes                        int64
	// First are the first few of those that are left.
	First []*manifest.Entry
	// Bar are the widths of what partitions rule out, what bounds do, and the rest, in thousandths.
	Bar [3]int
}

const shownLeft = 20

func try(ctx context.Context, t *catalog.Table, where string) *trial {
	expr, err := filter.Parse(where)
	if err != nil {
		return &trial{Error: err.Error(), Caret: filter.Caret(where, err)}
	}
	plan, err := t.Plan(ctx, catalog.ScanOptions{Where: expr})
	if err != nil {
		return &trial{Error: err.Error(), Caret: filter.Caret(where, err)}
	}
	out := &trial{Total: plan.Total, ByPartition: plan.PrunedPartition, ByBounds: plan.PrunedBounds, Left: len(plan.Shards)}
	for i, n := range []int{out.ByPartition, out.ByBounds, out.Left} {
		out.Bar[i] = 1000 * n / max(1, out.Total)
	}
	for _, e := range plan.Shards {
		out.Bytes += e.StoredBytes
	}
	out.First = plan.Shards[:min(shownLeft, len(plan.Shards))]
	return out
}

// BoundsAt and LeftAt are where the second and the third part of the bar begin.
func (t *trial) BoundsAt() int { return t.Bar[0] }

// LeftAt: see BoundsAt.
func (t *trial) LeftAt() int { return t.Bar[0] + t.Bar[1] }
