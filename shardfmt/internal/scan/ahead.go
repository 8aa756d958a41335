package scan

import (
	"context"
	"runtime"
	"sync"
)

// Ahead bounds what scans that share it fetch before its turn has come, in bytes. What is read next is never counted, so that a
// scan goes on whatever others have fetched. Safe for concurrent use.
type Ahead struct {
	limit uint64
	// evaluate has a place for each filter that is evaluated before its turn.
	evaluate chan struct{}

	mu      sync.Mutex
	used    uint64
	changed chan struct{} // closed when bytes were given back
}

const (
	// aheadBytes is the most bytes fetched before their turn: what 64 requests bring in a second at 1 MiB each, and four times what a
	// link of 4 Gbit/s brings during the 30 ms of a request.
	aheadBytes = 64 << 20
	// aheadShare is the part of a scan's memory that they may take.
	aheadShare = 16
	// aheadStripes is the most stripes of one scan that are made ready before their turn.
	aheadStripes = 64
)

// NewAhead makes an Ahead for scans that may take so many bytes of memory.
func NewAhead(memory uint64) *Ahead {
	return &Ahead{limit: min(aheadBytes, memory/aheadShare), evaluate: make(chan struct{}, runtime.GOMAXPROCS(0)), changed: make(chan struct{})}
}

// try takes n bytes if they are there; one that waits for its turn takes of the first half only, so that the scans whose turn has
// come have something left.
func (a *Ahead) try(n uint64, waits bool) bool {
	limit := a.limit
	if waits {
		limit /= 2
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if n > limit || a.used > limit-n {
		return false
	}
	a.used += n
	return true
}

// give returns n bytes.
func (a *Ahead) give(n uint64) {
	if n == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used -= n
	close(a.changed)
	a.changed = make(chan struct{})
}

// given is closed when bytes are returned.
func (a *Ahead) given() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.changed
}

// evaluating waits for a processor for a filter that is evaluated before its turn.
func (a *Ahead) evaluating(ctx context.Context) (done func(), err error) {
	select {
	case a.evaluate <- struct{}{}:
		return func() { <-a.evaluate }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
