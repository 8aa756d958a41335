package blobio

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/shardcat/shardcat/internal/parallel"
)

// How depth, the length of the critical path, is counted.
//
// Requests made one after another through one view of a Client wait for one another; requests of different
// branches of a fork don't. A chain knows how long the path behind it is. A request begins with that length and,
// once answered, leaves it one longer; requests that overlap on one chain therefore count as one step. A fork's
// branches all begin where the fork was made, however late the scheduler lets them run, and joining the fork
// leaves the parent as long as its longest branch:
//
//	client   ── GET ── GET ──┬── GET ── GET ──┬── PUT       depth 5
//	                         └── GET ─────────┘
//
// So sequential code need do nothing, and parallel code uses Client.Each or Client.Fork. Goroutines that share
// one view are counted as if they had waited for what happened to end before them: never too low.
type chain struct {
	depth atomic.Int64
	fork  *Fork // nil for the root
}

// reach makes a chain at least n long.
func (c *core) reach(on *chain, n int64) {
	raise(&on.depth, n)
	if on.fork != nil {
		raise(&on.fork.longest, n)
	}
	raise(&c.tally.depth, n)
}

// raise sets a to n if n is more.
func raise(a *atomic.Int64, n int64) {
	for {
		old := a.Load()
		if n <= old || a.CompareAndSwap(old, n) {
			return
		}
	}
}

// Trace states on which chain of requests a call is. The zero value is on none. Buckets around buckets hand it on
// with the options it stands in.
type Trace struct {
	core  *core
	chain *chain
	// store counts for the bucket, also for the calling view, if it is measured.
	store, also *tally
	// made is what the driver reports about the call's requests; nil where it is local and makes none.
	made *made
}

// made are the requests of one call, or of one writer, as reported by the driver.
type made struct {
	requests atomic.Int64
	waited   atomic.Int64 // of those, how many waited for one another and are not yet in the chain
}

func (t Trace) tallies() both { return both{&t.core.tally, t.store, t.also} }

// request marks the begin of a request; the function it returns marks its end.
func (t Trace) request() (answered func()) {
	n := t.chain.depth.Load() + 1
	return func() { t.core.reach(t.chain, n) }
}

// Count is for drivers that see their requests, by the transport below the store's library: it counts each request
// of a call. A call that reports none is counted as one of its kind. Depth is 0 for a request that goes beside the one
// before it, else 1.
func (t Trace) Count(request Counters) {
	if t.core == nil {
		return
	}
	t.tallies().add(request)
	if t.made == nil {
		t.core.reach(t.chain, t.chain.depth.Load()+request.Depth)
		return
	}
	t.made.waited.Add(request.Depth)
	t.made.requests.Add(1)
}

// trace is the chain of this view.
func (c *Client) trace() Trace { return Trace{core: c.core, chain: c.chain, also: c.also} }

// Fork is a point from which work goes on in parallel.
type Fork struct {
	client  *Client
	begin   int64
	longest atomic.Int64
}

// Fork makes a fork of this view's chain of requests.
func (c *Client) Fork() *Fork {
	return &Fork{client: c, begin: c.chain.depth.Load()}
}

// Branch gives a view of the Client for one piece of the work: requests through it wait for one another and for
// what came before the fork, not for those of other branches.
func (f *Fork) Branch() *Client {
	branch := &struct {
		Client
		on chain
	}{Client: *f.client}
	branch.chain = &branch.on
	branch.on.fork = f
	branch.on.depth.Store(f.begin)
	return &branch.Client
}

// Follow notes that what this view of the Client requests from now on waits for what another view has requested by now.
func (c *Client) Follow(other *Client) { c.reach(c.chain, other.chain.depth.Load()) }

// Join notes that the forked view waited for all branches. Call it when their work is done.
func (f *Fork) Join() { f.client.reach(f.client.chain, f.longest.Load()) }

// Each calls do for 0 … n−1, as many at a time as ClientOptions.Concurrency states, each with a branch of its own. The first
// error cancels the context of the others and is returned when all have ended. A panic of do counts as its error.
func (c *Client) Each(ctx context.Context, n int, do func(ctx context.Context, branch *Client, i int) error) error {
	if c.inTurn {
		return c.EachUpTo(ctx, 1, n, do)
	}
	return c.EachUpTo(ctx, c.opts.Concurrency, n, do)
}

// EachUpTo is Each with at most limit calls at a time.
func (c *Client) EachUpTo(ctx context.Context, limit, n int, do func(ctx context.Context, branch *Client, i int) error) error {
	switch n {
	case 0:
		return nil
	case 1:
		return parallel.Guarded(func() error { return do(ctx, c, 0) })
	}
	fork := c.Fork()
	defer fork.Join()
	if limit == 1 {
		return inTurn(ctx, n, func(i int) error { return do(ctx, fork.Branch(), i) })
	}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(limit)
	for i := range n {
		if inner.Err() != nil {
			break
		}
		group.Go(func() error {
			return parallel.Guarded(func() error { return do(inner, fork.Branch(), i) })
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx) // work that was never begun
}

// inTurn calls do for 0 … n−1, one after the other, without goroutines, whose stacks have to grow again each time.
func inTurn(ctx context.Context, n int, do func(i int) error) error {
	for i := range n {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := parallel.Guarded(func() error { return do(i) }); err != nil {
			return err
		}
	}
	return nil
}
