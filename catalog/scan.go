package catalog

import (
	"context"
	"iter"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// ScanStats are what a scan did, for --explain. They may be read when the scan has ended.
type ScanStats struct {
	ShardsTotal           int   `json:"shards_total"`
	ShardsPrunedPartition int   `json:"shards_pruned_partition"`
	ShardsPrunedBounds    int   `json:"shards_pruned_bounds"`
	ShardsPrunedStats     int   `json:"shards_pruned_stats"`
	StripesPruned         int   `json:"stripes_pruned"`
	BlocksRead            int64 `json:"blocks_read"`
	BlocksPruned          int64 `json:"blocks_pruned"`
	RowsMatched           int64 `json:"rows_matched"`
}

// scanShards is how many shards are read at a time. Opening one is a round trip; four hide most of it behind
// the decoding of others, and hold few batches.
const scanShards = 4

// Scan plans and reads. Batches have the columns of Schema in canonical Arrow types, need no Release, and may be
// kept. It stops at the first error, which it yields. stats may be nil.
func (t *Table) Scan(ctx context.Context, o ScanOptions, stats *ScanStats) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		p, err := t.Plan(ctx, o)
		if err != nil {
			yield(nil, err)
			return
		}
		for b, err := range p.Run(ctx, stats) {
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// Schema is the Arrow schema of the batches.
func (p *Plan) Schema() *arrow.Schema {
	return arrowtype.Schema(&schema.Schema{Fields: p.output()})
}

// Fields are the selected fields of the table's schema; members that were not selected are left out. They must
// not be changed.
func (p *Plan) Fields() []*schema.Node { return p.output() }

// output are the columns of the result.
func (p *Plan) output() []*schema.Node {
	if p.options.Select == nil {
		return p.schema.Shard.Fields
	}
	return narrow(p.schema.Shard, p.selected())
}

func (p *Plan) selected() []*schema.Node {
	nodes := make([]*schema.Node, len(p.columns))
	for i, c := range p.columns {
		nodes[i] = c.node
	}
	return nodes
}

// Run reads the planned shards: in the order of their commits if asked for, else as they come.
func (p *Plan) Run(ctx context.Context, stats *ScanStats) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if stats == nil {
			stats = &ScanStats{}
		}
		stats.ShardsTotal, stats.ShardsPrunedPartition, stats.ShardsPrunedBounds = p.Total, p.PrunedPartition, p.PrunedBounds
		r := &reading{plan: p, stats: stats, types: p.Schema(), fork: p.table.cat.space.Fork(ctx)}
		defer r.wait()
		defer cancel()
		left := p.options.Limit
		for out := range r.start(ctx) {
			for b := range out {
				if b.err != nil {
					yield(nil, b.err)
					return
				}
				if limit := p.options.Limit; limit > 0 && b.batch.NumRows() >= left {
					r.matched(left)
					yield(b.batch.NewSlice(0, left), nil)
					return
				}
				left -= b.batch.NumRows()
				r.matched(b.batch.NumRows())
				if !yield(b.batch, nil) {
					return
				}
			}
		}
	}
}

// delivery is a batch on its way to the caller, or the error that ends the scan.
type delivery struct {
	batch arrow.RecordBatch
	err   error
}

// reading is a scan at work. Each shard has a channel of its own where order matters, all share one where it
// does not.
type reading struct {
	plan  *Plan
	types *arrow.Schema
	group sync.WaitGroup
	// fork counts the requests for shards that are read side by side.
	fork *blobio.Fork

	mu    sync.Mutex
	stats *ScanStats
}

func (r *reading) wait() {
	r.group.Wait()
	r.fork.Join()
}

func (r *reading) matched(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.RowsMatched += n
}

// start begins to read and gives the channels to drain, in order.
func (r *reading) start(ctx context.Context) iter.Seq[<-chan delivery] {
	shards := r.plan.Shards
	outs := make([]chan delivery, len(shards))
	shared := make(chan delivery, scanShards)
	var last sync.WaitGroup
	slots := make(chan struct{}, scanShards)
	for i := range shards {
		if r.plan.options.Ordered {
			outs[i] = make(chan delivery, 1)
		} else {
			outs[i] = shared
		}
		last.Add(1)
	}
	r.group.Add(1)
	go func() {
		defer r.group.Done()
		for i, e := range shards {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				for range shards[i:] {
					last.Done()
				}
				r.finish(&last, shared)
				return
			}
			r.group.Add(1)
			go func() {
				defer r.group.Done()
				defer func() { <-slots }()
				r.shard(r.fork.Strand(ctx), e, outs[i])
				if r.plan.options.Ordered {
					close(outs[i])
				}
				last.Done()
			}()
		}
		r.finish(&last, shared)
	}()
	return func(yield func(<-chan delivery) bool) {
		if !r.plan.options.Ordered {
			yield(shared)
			return
		}
		for _, out := range outs {
			if !yield(out) {
				return
			}
		}
	}
}

// finish closes the shared channel once nobody sends any more.
func (r *reading) finish(last *sync.WaitGroup, shared chan delivery) {
	last.Wait()
	close(shared)
}

// shard reads one shard into out.
func (r *reading) shard(ctx context.Context, e *manifest.Entry, out chan<- delivery) {
	err := r.batches(ctx, e, func(b arrow.RecordBatch) bool {
		select {
		case out <- delivery{batch: b}:
			return true
		case <-ctx.Done():
			return false
		}
	})
	if err == nil {
		return
	}
	select {
	case out <- delivery{err: err}:
	case <-ctx.Done():
	}
}

// empty makes batches without columns, for scans that only count.
func empty(types *arrow.Schema, rows int64) arrow.RecordBatch {
	return array.NewRecordBatch(types, nil, rows)
}
