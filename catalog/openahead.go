package catalog

import (
	"context"
	"sync"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/parallel"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
)

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
	if !p.options.Runs || len(p.Shards) == 0 || len(p.Shards) > openedAhead || p.table.cat.client.Nearby(ctx, p.Shards[0].Path) {
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
	client := p.table.cat.client
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
	return p.table.openShard(ctx, client, e.Path, e.RootBytes, p.bound != nil && e.Stripes > 2)
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

// join reports that the requests of the shards have ended.
func (o *openedShards) join() {
	if o != nil {
		o.fork.Join()
	}
}
