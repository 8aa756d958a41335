package tablescan

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// Limits that tests lower, and what they see of plans.
var (
	TopBytes     = &topBytes
	TopSample    = &topSample
	LeastSampled = &leastSampled
	RemoteSample = &remoteSample
)

func (p *Plan) Bound() *filter.Bound     { return p.bound }
func (p *Plan) Options() ScanOptions     { return p.options }
func (p *Plan) TopKeys() []topKey        { return p.topKeys() }
func (p *Plan) Only(keys []topKey) *Plan { return p.only(keys) }
func (t *topRow) Values() []arrow.Array  { return t.values }

func (p *Plan) AtMostLast(ctx context.Context, stats *ScanStats) (*topRow, error) {
	return p.atMostLast(ctx, stats)
}

func (p *Plan) LastOf(ctx context.Context, stats *ScanStats, keys []topKey) (*topRow, error) {
	return p.lastOf(ctx, stats, keys)
}

func (p *Plan) LastOfPart(ctx context.Context, stats *ScanStats, narrow *Plan, keys []topKey) *topRow {
	return p.lastOfPart(ctx, stats, narrow, keys)
}

// Pushed opens a shard: the filter that its scan does, and that which is left.
func (p *Plan) Pushed(ctx context.Context, e *manifest.Entry) (pushed, left *filter.Bound, err error) {
	shard, err := p.open(ctx, p.state.Client, e)
	if err != nil {
		return nil, nil, err
	}
	defer shard.Close()
	q, err := p.shardQuery(ctx, shard)
	if err != nil {
		return nil, nil, err
	}
	return q.options.Filter, q.filter, nil
}
