package tablescan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/projection"
	"github.com/shardcat/shardcat/internal/parallel"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// ScanStats are what a scan did, for --explain. They may be read when the scan has ended.
type ScanStats struct {
	// ManifestsRead and ManifestsPruned are Iceberg's files of entries: those that were read, and those that their partitions rule out.
	ManifestsRead         int `json:"manifests_read"`
	ManifestsPruned       int `json:"manifests_pruned"`
	ShardsTotal           int `json:"shards_total"`
	ShardsPrunedPartition int `json:"shards_pruned_partition"`
	ShardsPrunedBounds    int `json:"shards_pruned_bounds"`
	ShardsPrunedStats     int `json:"shards_pruned_stats"`
	// ShardsPrunedTerms are shards that term filters rule out before anything of them is read, StripesPrunedTerms stripes of other
	// shards.
	ShardsPrunedTerms int `json:"shards_pruned_terms"`
	// ShardsPrunedKeys are shards that a key index of the table rules out. Stripes of others that it rules out count with those of term filters.
	ShardsPrunedKeys   int   `json:"shards_pruned_keys"`
	StripesPruned      int   `json:"stripes_pruned"`
	StripesPrunedTerms int   `json:"stripes_pruned_terms"`
	BlocksRead         int64 `json:"blocks_read"`
	BlocksPruned       int64 `json:"blocks_pruned"`
	// StripesIndexed are stripes whose rows indexes chose; StripesUnindexed were read for HAS or HASPREFIX
	// without an index that could tell.
	StripesIndexed   int `json:"stripes_indexed"`
	StripesUnindexed int `json:"stripes_unindexed"`
	// IndexGets and IndexBytes are what lookups in indexes cost.
	IndexGets   int64 `json:"index_gets"`
	IndexBytes  int64 `json:"index_bytes"`
	RowsMatched int64 `json:"rows_matched"`
	// EncodingsSkipped are encodings of fields that were damaged or unknown, where another one of the field was read; one
	// for each column and stripe.
	EncodingsSkipped int64 `json:"encodings_skipped"`
	// Contradictions are fields whose statistics contradict each other or the stored presence; one for each column and stripe.
	Contradictions int64 `json:"contradictions"`
}

const (
	// ShardsAtOnce is how many shards are decoded at a time, and hold batches.
	ShardsAtOnce = 4
	// aheadShards is how many shards of a remote store are open at a time, most of which wait for their turn with their first bytes:
	// as many as the requests to a store at the same time (blobio.DefaultBucketConcurrency).
	aheadShards = 64
)

// Count is the number of rows that Run gives. Where nothing but the shards reports which rows those are, the entries of the
// catalog tell their number, deleted ones left out, and nothing is read; else the columns of the filter are. stats may be
// nil.
func (p *Plan) Count(ctx context.Context, stats *ScanStats) (rows int64, err error) {
	if o := &p.options; p.leftOut == nil && p.bound == nil && p.window == nil && o.Limit == 0 && o.Offset == 0 && o.Sample == 0 {
		for _, shard := range p.Shards {
			rows += shard.Records
		}
		return rows, nil
	}
	bare := *p // of any columns, in any order
	bare.options.ReuseBatches = true
	if p.options.Sample == 0 && p.leftOut == nil {
		bare.options.Select, bare.options.OrderBy, bare.columns = []string{}, nil, nil
	}
	for batch, err := range bare.Run(ctx, stats) {
		if err != nil {
			return rows, err
		}
		rows += batch.NumRows()
	}
	return rows, nil
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
		return p.state.Schema.Shard.Fields
	}
	return projection.Prune(p.state.Schema.Shard, p.columns)
}

// Run reads the planned shards: ordered by columns or by their commits if requested, else as they come.
func (p *Plan) Run(ctx context.Context, stats *ScanStats) iter.Seq2[arrow.RecordBatch, error] {
	o, limit := &p.options, int64(-1)
	switch {
	case o.Limit == NoRows:
		limit = 0
	case o.Limit > 0:
		limit = o.Limit
	}
	switch {
	case limit == 0: // nothing to read, but the plan is reported
		return p.read(ctx, stats, 0)
	case o.Sample > 0:
		return skipping(p.sampled(ctx, stats), o.Offset, limit)
	case len(o.OrderBy) > 0:
		return skipping(p.sorted(ctx, stats), o.Offset, limit)
	case o.Offset > 0 && limit > 0:
		return skipping(p.read(ctx, stats, o.Offset+limit), o.Offset, limit)
	case o.Offset > 0:
		return skipping(p.read(ctx, stats, limit), o.Offset, limit)
	}
	return p.read(ctx, stats, limit)
}

// read reads the planned shards until there are limit rows (negative: all).
func (p *Plan) read(ctx context.Context, stats *ScanStats, limit int64) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if stats == nil {
			stats = &ScanStats{}
		}
		if err := p.checkColumns(); err != nil {
			yield(nil, err)
			return
		}
		stats.ManifestsRead, stats.ManifestsPruned = p.Manifests, p.ManifestsPruned
		stats.ShardsTotal, stats.ShardsPrunedPartition, stats.ShardsPrunedBounds = p.Total, p.PrunedPartition, p.PrunedBounds
		stats.ShardsPrunedTerms, stats.ShardsPrunedKeys = p.PrunedTerms, p.PrunedKeys
		r := &reading{plan: p, stats: stats, types: p.Schema(), fork: p.state.Client.Fork(),
			budget: shardfmt.NewBudget(cmp.Or(p.options.MaxMemory, p.state.MaxMemory))}
		stripes := int64(0)
		for _, e := range p.Shards {
			stripes += max(1, e.Private.Stripes)
		}
		r.all, r.ahead = limit < 0, shardfmt.NewReadAhead(r.budget, int(stripes))
		defer r.wait()
		defer cancel()
		left := limit
		if limit == 0 {
			return
		}
		for _, out := range r.start(ctx) {
			for {
				b, ok := receive(ctx, out)
				if !ok {
					break
				}
				if b.err != nil {
					yield(nil, b.err)
					return
				}
				if b.batch == nil {
					continue // the shard's end
				}
				batch, last := b.batch, false
				if limit >= 0 && batch.NumRows() >= left {
					batch, last = batch.NewSlice(0, left), true
				}
				left -= batch.NumRows()
				r.matched(batch.NumRows())
				if !yield(batch, nil) || last {
					return
				}
				if b.used != nil {
					b.used <- struct{}{}
				}
			}
		}
	}
}

// receive waits for the next delivery; false means that there is none. A cancelled scan is an error, never an
// early end.
func receive(ctx context.Context, from <-chan delivery) (delivery, bool) {
	select {
	case d, ok := <-from:
		if !ok && ctx.Err() != nil {
			return delivery{err: ctx.Err()}, true
		}
		return d, ok
	case <-ctx.Done():
		return delivery{err: ctx.Err()}, true
	}
}

// delivery is a batch on its way to the caller, or the error that ends the scan. used, if not nil, has space for the word that
// nobody looks at the batch any more.
type delivery struct {
	batch arrow.RecordBatch
	err   error
	used  chan struct{}
}

// reading is a scan at work. Each shard has a channel of its own where order matters, all share one where it
// does not.
type reading struct {
	plan  *Plan
	types *arrow.Schema
	group sync.WaitGroup
	// fork counts the requests for shards that are read side by side.
	fork *blobio.Fork
	// budget is that of all shards together, ahead what they fetch before it is needed.
	budget *shardfmt.Budget
	ahead  *shardfmt.ReadAhead
	// all: there is no limit to the rows that are read.
	all bool

	mu    sync.Mutex
	stats *ScanStats
}

func (r *reading) wait() {
	r.group.Wait()
	r.fork.Join()
	r.plan.opened.join()
}

func (r *reading) matched(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.RowsMatched += n
}

// start begins to read and gives the channels to drain, in order.
func (r *reading) start(ctx context.Context) []chan delivery {
	outs := make([]chan delivery, 1)
	if r.plan.options.Ordered {
		outs = make([]chan delivery, len(r.plan.Shards))
	}
	for i := range outs {
		outs[i] = make(chan delivery, 1)
	}
	r.group.Add(1)
	go func() {
		defer r.group.Done()
		r.read(ctx, outs)
	}()
	return outs
}

// read reads the shards, some at a time. A channel is closed when nothing more will be sent on it.
//
// Of a remote store, more shards are opened than decoded: their roots and first bytes are fetched while those before them are decoded,
// which they wait for with turn. Turns are given in the order of the shards, so that the one whose batches are taken first always
// has one.
func (r *reading) read(ctx context.Context, outs []chan delivery) {
	shards, ordered := r.plan.Shards, r.plan.options.Ordered
	opened := make(chan struct{}, r.opened(ctx))
	turns, ended := make([]chan struct{}, len(shards)), make([]chan struct{}, len(shards))
	for i := range shards {
		turns[i], ended[i] = make(chan struct{}), make(chan struct{})
	}
	var begun sync.WaitGroup
	begun.Add(1)
	go func() {
		defer begun.Done()
		giveTurns(ctx, turns, ended, r.ahead.SetTurn)
	}()
	for i, e := range shards {
		select {
		case opened <- struct{}{}:
		case <-ctx.Done():
			begun.Wait()
			return // nobody listens any more
		}
		begun.Add(1)
		go func() {
			defer begun.Done()
			defer func() { <-opened }()
			defer close(ended[i])
			if !ordered {
				r.shard(ctx, e, shardTurn{i, turns[i]}, outs[0])
				return
			}
			defer close(outs[i])
			r.shard(ctx, e, shardTurn{i, turns[i]}, outs[i])
			// The place among those that are read is kept until the last batch was taken: a caller that takes its time would
			// else have all shards of one batch each in memory.
			select {
			case outs[i] <- delivery{}:
			case <-ctx.Done():
			}
		}()
	}
	begun.Wait()
	if !ordered {
		close(outs[0])
	}
}

// shardTurn is the place of a shard among those of the scan, and closed when it may be decoded.
type shardTurn struct {
	place int
	comes <-chan struct{}
}

// giveTurns closes one turn after the other, and reports each to given, so that at most ShardsAtOnce of those whose turn has come have not ended.
func giveTurns(ctx context.Context, turns, ended []chan struct{}, given func(place int)) {
	slots := make(chan struct{}, ShardsAtOnce)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	for i := range turns {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		given(i)
		close(turns[i])
		waiting.Go(func() {
			select {
			case <-ended[i]:
			case <-ctx.Done():
			}
			<-slots
		})
	}
}

// opened is how many shards are open at a time.
func (r *reading) opened(ctx context.Context) int {
	shards := r.plan.Shards
	if !r.all || len(shards) == 0 || r.plan.state.Client.Nearby(ctx, shards[0].Path) {
		return ShardsAtOnce
	}
	return aheadShards
}

// reuses reports whether batches are valid only until the next one is requested.
func (r *reading) reuses() bool {
	o := &r.plan.options
	return o.ReuseBatches && len(o.OrderBy) == 0 && o.Sample == 0
}

// shard reads one shard into out.
func (r *reading) shard(ctx context.Context, e *manifest.Entry, turn shardTurn, out chan<- delivery) {
	var used chan struct{}
	if r.reuses() {
		used = make(chan struct{}, 1)
	}
	err := parallel.Guarded(func() error {
		return r.batches(ctx, e, turn, func(b arrow.RecordBatch) bool {
			select {
			case out <- delivery{batch: b, used: used}:
			case <-ctx.Done():
				return false
			}
			if used == nil {
				return true
			}
			select {
			case <-used:
				return true
			case <-ctx.Done():
				return false
			}
		})
	})
	if err == nil {
		return
	}
	if p := (*parallel.Panic)(nil); errors.As(err, &p) {
		err = fmt.Errorf("%s: %w", e.Path, err)
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
