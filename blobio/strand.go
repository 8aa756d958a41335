package blobio

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// How depth is counted.
//
// Requests made one after another on one strand wait for one another; requests on different strands of a fork
// don't. A strand knows how long the chain behind it is. A request begins with that length and, once answered,
// leaves it one longer; requests that overlap on one strand therefore count as one step. A fork's strands all
// begin where the fork was made, however late the scheduler lets them run, and joining the fork leaves the
// parent as long as its longest strand:
//
//	strand   ── GET ── GET ──┬── GET ── GET ──┬── PUT       depth 5
//	                         └── GET ─────────┘
//
// So sequential code need do nothing, and parallel code uses Client.Each or Client.Fork. Goroutines that share
// one strand are counted as if they had waited for what happened to end before them: never too low.
type strand struct {
	depth atomic.Int64
	fork  *Fork // nil for a root
}

// strandKey finds the strand of one Client in a context. It is pointer-shaped: looking it up allocates nothing.
type strandKey struct{ *core }

func (s *Client) strand(ctx context.Context) *strand {
	if st, ok := ctx.Value(strandKey{s.core}).(*strand); ok {
		return st
	}
	return &s.root
}

// request marks the begin of a request; the function it returns marks its end.
func (s *Client) request(ctx context.Context) (answered func()) {
	st := s.strand(ctx)
	n := st.depth.Load() + 1
	return func() { s.reach(st, n) }
}

func (s *Client) reach(st *strand, n int64) {
	raise(&st.depth, n)
	if st.fork != nil {
		raise(&st.fork.longest, n)
	}
	raise(&s.tally.depth, n)
}

// Fork is a point from which work goes on in parallel strands.
type Fork struct {
	client  *Client
	parent  *strand
	begin   int64
	longest atomic.Int64
}

// Fork makes a fork of the strand of ctx.
func (s *Client) Fork(ctx context.Context) *Fork {
	parent := s.strand(ctx)
	return &Fork{client: s, parent: parent, begin: parent.depth.Load()}
}

// Strand begins a new strand: requests with the returned context wait for one another and for what came before
// the fork, not for its other strands.
func (f *Fork) Strand(ctx context.Context) context.Context {
	st := &strand{fork: f}
	st.depth.Store(f.begin)
	return context.WithValue(ctx, strandKey{f.client.core}, st)
}

// Join says that the parent waited for all strands. Call it when their work is done.
func (f *Fork) Join() { f.client.reach(f.parent, f.longest.Load()) }

// Each calls do for 0 … n−1, as many at a time as WithConcurrency says, each on a strand of its own. The first
// error cancels the context of the others and is returned when all have ended.
func (s *Client) Each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	switch n {
	case 0:
		return nil
	case 1:
		return do(ctx, 0)
	}
	fork := s.Fork(ctx)
	defer fork.Join()
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(s.opts.concurrency)
	for i := range n {
		if inner.Err() != nil {
			break
		}
		group.Go(func() error { return do(fork.Strand(inner), i) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx) // work that was never begun
}
