package tablescan

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/projection"
	"github.com/shardcat/shardcat/internal/parallel"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// batches reads one shard, filtered and projected to the result's columns, and decodes nothing before its turn. It ends when yield
// returns false.
func (r *reading) batches(ctx context.Context, e *manifest.Entry, turn shardTurn, yield func(arrow.RecordBatch) bool) error {
	p := r.plan
	if !e.IsShard() {
		return corrupt.Locate(corrupt.Unsupported(-1, "an entry of format %q", e.Format), e.Path, 0)
	}
	if len(r.types.Fields()) == 0 && p.bound == nil && p.window == nil {
		yield(empty(r.types, e.Records))
		return nil
	}
	shard := p.opened.take(e.Path)
	if shard == nil {
		var err error
		if shard, err = p.open(ctx, r.fork.Branch(), e); err != nil {
			return err
		}
	}
	defer shard.Close()
	q, err := p.shardQuery(ctx, shard)
	if err != nil {
		return err
	}
	var stats shardfmt.ScanStats
	defer func() { r.count(shard, &stats) }()
	o := q.options
	o.Stats, o.BatchRows, o.Budget, o.IgnoreIndexes = &stats, p.options.BatchRows, r.budget, p.options.IgnoreIndexes
	o.ReuseBatches, o.All, o.Ahead, o.Turn = r.reuses(), r.all, r.ahead, turn.comes
	o.Place = turn.place
	if o.RuledOut = p.ruledOut[e.Path]; p.leftOut != nil {
		o.RuledOut = p.leftOut[e.Path] // indexes are not used then
	}
	if w := p.window; w != nil {
		if w.start == w.end || w.end > shard.Records() {
			return w.outside(shard)
		}
		o.Start, o.End = w.start, w.end
	}
	for b, err := range shard.Scan(ctx, o) {
		if err != nil {
			return err
		}
		if b, err = q.finish(ctx, b, r.types); err != nil {
			return fmt.Errorf("%s: %w", e.Path, err)
		}
		if b.NumRows() > 0 && !yield(b) {
			return nil
		}
	}
	return nil
}

// count adds up what the scan of one shard left out.
func (r *reading) count(shard *shardfmt.Shard, s *shardfmt.ScanStats) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(shard.Stripes()); n > 0 && s.StripesPruned == n {
		r.stats.ShardsPrunedStats++ // each stripe of it is accounted for by the shard
	} else {
		r.stats.StripesPruned += s.StripesPruned
	}
	r.stats.StripesPrunedTerms += s.StripesPrunedTerms
	r.stats.BlocksRead += s.BlocksRead
	r.stats.BlocksPruned += s.BlocksPruned
	r.stats.StripesIndexed += s.StripesIndexed
	r.stats.StripesUnindexed += s.StripesUnindexed
	r.stats.IndexGets += s.IndexGets
	r.stats.IndexBytes += s.IndexBytes
	r.stats.EncodingsSkipped += s.EncodingsSkipped
	r.stats.Contradictions += s.Contradictions
}

// shardQuery is a scan of the table in the terms of one shard.
type shardQuery struct {
	options shardfmt.ScanOptions
	project projection.Projection
	// filter is what the shard's scan could not do itself, bound to needed, the columns read for the filter and
	// the result together.
	filter *filter.Bound
	needed []*schema.Node
	output []*schema.Node
}

// shardQuery translates the plan. Where the filter's fields have the same types in the shard, under whatever names, the
// shard's scan filters, with all its pruning; else the rows are filtered after they were projected.
func (p *Plan) shardQuery(ctx context.Context, shard *shardfmt.Shard) (*shardQuery, error) {
	s, ids, err := p.fieldsOf(ctx, shard)
	if err != nil {
		return nil, err
	}
	names := shardPaths(s, ids)
	q := &shardQuery{output: p.output()}
	q.project = projection.Projection{IDs: p.state.Schema.IDs, Shard: s, ShardIDs: ids}
	q.needed = q.output
	if p.bound != nil {
		if q.options.Filter = p.pushDown(s, ids, names); q.options.Filter == nil {
			q.filter = p.bound
			q.needed = projection.Prune(p.state.Schema.Shard, slices.Concat(p.columns, p.filterNodes()))
		}
	}
	q.project.Target = q.needed
	q.options.Columns = q.paths(p.state.Schema.Shard, names)
	return q, nil
}

// OfShard reads the rows of an open shard, which may be none of the table, as the plan does.
func OfShard(ctx context.Context, p *Plan, shard *shardfmt.Shard) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		q, err := p.shardQuery(ctx, shard)
		if err != nil {
			yield(nil, err)
			return
		}
		q.options.MaxMemory = p.state.MaxMemory
		types := p.Schema()
		for b, err := range shard.Scan(ctx, q.options) {
			if err == nil {
				b, err = q.finish(ctx, b, types)
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// fieldsOf is the schema of a shard, with the table's field ids of its nodes.
func (p *Plan) fieldsOf(ctx context.Context, shard *shardfmt.Shard) (*schema.Schema, []int, error) {
	s, err := shard.Schema(ctx)
	if err != nil {
		return nil, nil, err
	}
	ids, err := p.state.Schema.MapShard(ctx, shard)
	return s, ids, err
}

func (p *Plan) filterNodes() []*schema.Node {
	var out []*schema.Node
	for _, id := range p.bound.Nodes() {
		out = append(out, p.state.Schema.Node(p.state.Schema.IDs[id]))
	}
	return out
}

// pushDown adapts the filter to the shard's schema, by the names that its fields have there, see shardPaths; nil if that would mean
// anything else.
func (p *Plan) pushDown(s *schema.Schema, ids []int, names map[int][]string) *filter.Bound {
	var paths []filter.Path
	for _, node := range p.bound.Nodes() {
		id := p.state.Schema.IDs[node]
		path, ok := names[id]
		if !ok {
			return nil
		}
		if n, err := s.Lookup(schema.JoinPath(path...)); err != nil || ids[n.ID] != id {
			return nil
		}
		paths = append(paths, path)
	}
	bound, ok := p.bound.Adapt(s, paths)
	if !ok {
		return nil
	}
	return bound
}

// shardPaths are the paths of a shard's fields by the table's field ids, those of lists and maps and of members of structs.
func shardPaths(s *schema.Schema, ids []int) map[int][]string {
	byID := map[int][]string{}
	var visit func(nodes []*schema.Node, prefix []string)
	visit = func(nodes []*schema.Node, prefix []string) {
		for _, n := range nodes {
			path := append(prefix[:len(prefix):len(prefix)], n.Name)
			if id := ids[n.ID]; id != 0 {
				byID[id] = path
			}
			if n.Basic == schema.Struct {
				visit(n.Children, path)
			}
		}
	}
	visit(s.Fields, nil)
	return byID
}

// paths are the shard's names of the fields needed; fields it lacks are left out.
func (q *shardQuery) paths(table *schema.Schema, names map[int][]string) []string {
	paths := []string{}
	for _, n := range projection.Leaves(table, q.needed) {
		if path, ok := names[q.project.IDs[n.ID]]; ok {
			paths = append(paths, schema.JoinPath(path...))
		}
	}
	return paths
}

// finish turns a batch of the shard into one of the result.
func (q *shardQuery) finish(ctx context.Context, b arrow.RecordBatch, types *arrow.Schema) (arrow.RecordBatch, error) {
	if q.filter == nil {
		defer b.Release() // what the other one shares with it lives on
		return q.project.Apply(b, types)
	}
	b, err := q.project.Apply(b, arrowtype.Schema(&schema.Schema{Fields: q.needed}))
	if err != nil {
		return nil, err
	}
	if b, err = selectRows(ctx, b, q.filter); err != nil {
		return nil, err
	}
	// The result's columns again, without those that only the filter needed.
	columns := make([]arrow.Array, len(q.output))
	outer := projection.Projection{Target: q.output, IDs: q.project.IDs, Shard: &schema.Schema{Fields: q.needed}, ShardIDs: q.project.IDs}
	if b.NumCols() == int64(len(q.output)) && b.Schema().Equal(types) {
		return b, nil
	}
	if len(columns) == 0 {
		return empty(types, b.NumRows()), nil
	}
	return outer.Apply(b, types)
}

// selectRows keeps the rows that a filter selects.
func selectRows(ctx context.Context, b arrow.RecordBatch, f *filter.Bound) (arrow.RecordBatch, error) {
	bitmap, n, err := f.Charged(func(uint64) error { return ctx.Err() }).Select(b)
	if err != nil || int64(n) == b.NumRows() {
		return b, err
	}
	if b.NumCols() == 0 {
		return empty(b.Schema(), int64(n)), nil
	}
	return shardfmt.SelectRows(b, bitmap), nil
}

const (
	// openedAhead is the most shards whose roots are read before their term filters have been asked: more are mostly ruled out.
	openedAhead = 4
	// openedRoot is the largest root that is read so.
	openedRoot = 64 << 10
)

// openedShards are shards of a plan that were opened while their term filters were read. Safe for concurrent use.
type openedShards struct {
	fork *blobio.Fork

	mu     sync.Mutex
	shards map[string]*shardfmt.Shard // by path
}

// opensAhead reports whether the shards are few, small and far away, and the plan will be run: a step less is worth a request each.
func (p *Plan) opensAhead(ctx context.Context) bool {
	if !p.options.Runs || len(p.Shards) == 0 || len(p.Shards) > openedAhead || p.state.Client.Nearby(ctx, p.Shards[0].Path) {
		return false
	}
	for _, e := range p.Shards {
		if !e.IsShard() || e.RootBytes <= 0 || e.RootBytes > openedRoot {
			return false
		}
	}
	return true
}

// withOpened calls ask with a client, and meanwhile opens the shards where that is worth it. A shard that can't be opened is opened again
// when its turn comes, which reports the error.
func (p *Plan) withOpened(ctx context.Context, ask func(*blobio.Client) error) error {
	client := p.state.Client
	if !p.opensAhead(ctx) {
		return ask(client)
	}
	o := &openedShards{fork: client.Fork(), shards: map[string]*shardfmt.Shard{}}
	defer o.fork.Join()
	var opening sync.WaitGroup
	for _, e := range p.Shards {
		opening.Go(func() {
			_ = parallel.Guarded(func() error {
				shard, err := p.open(ctx, o.fork.Branch(), e)
				if err == nil {
					o.mu.Lock()
					defer o.mu.Unlock()
					o.shards[e.Path] = shard
				}
				return err
			})
		})
	}
	err := ask(o.fork.Branch())
	opening.Wait()
	p.opened = o
	return err
}

// open opens a shard of the plan.
func (p *Plan) open(ctx context.Context, client *blobio.Client, e *manifest.Entry) (*shardfmt.Shard, error) {
	return Open(ctx, client, p.state, e.Path, shardfmt.OpenOptions{Size: e.RootBytes, Parts: p.bound != nil && e.Stripes > 2})
}

// take gives a shard that was opened, once; nil if there is none.
func (o *openedShards) take(path string) *shardfmt.Shard {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.shards[path]
	delete(o.shards, path)
	return s
}

// join notes that the requests of the shards have ended.
func (o *openedShards) join() {
	if o != nil {
		o.fork.Join()
	}
}
