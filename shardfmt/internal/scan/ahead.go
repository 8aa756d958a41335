package scan

import (
	"context"
	"runtime"
	"sync"
)

// Ahead bounds what scans that share it fetch before its turn has come, in bytes. What is read next is never counted, so that a
// scan goes on whatever others have fetched. Safe for concurrent use.
type Ahead struct {
	limit   uint64
	stripes int // of the scans, as far as is known
	// evaluate has a place for each filter that is evaluated before its turn.
	evaluate chan struct{}
	words    wordSample

	mu      sync.Mutex
	used    uint64
	turn    int           // the last scan whose turn has come
	changed chan struct{} // closed when bytes were given back, or a turn has come
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

// NewAhead makes an Ahead for the scans of so many stripes, which may take so many bytes of memory.
func NewAhead(memory uint64, stripes int) *Ahead {
	return &Ahead{stripes: stripes, limit: min(aheadBytes, memory/aheadShare), evaluate: make(chan struct{}, runtime.GOMAXPROCS(0)), changed: make(chan struct{}),
		words: wordSample{done: make(chan struct{})}}
}

// try takes n bytes if they are there.
func (a *Ahead) try(n uint64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.take(n, a.limit)
}

// tryWaiting is try of a scan that waits for its turn. It takes of the first half only, so that the scans whose turn has come have something left, and
// nothing that those between it and them could take, if they need as much: bytes of a scan whose turn is far off are of no use until then.
func (a *Ahead) tryWaiting(n uint64, place int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if before := uint64(max(0, place-a.turn-1)); before > 0 && n > a.limit/2/(before+1) {
		return false
	}
	return a.take(n, a.limit/2)
}

func (a *Ahead) take(n, limit uint64) bool {
	if n > limit || a.used > limit-n {
		return false
	}
	a.used += n
	return true
}

// halfFree reports whether half of the bytes are there.
func (a *Ahead) halfFree() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.used <= a.limit/2
}

// SetTurn notes that the turn of the scan at a place has come; turns come in the order of places.
func (a *Ahead) SetTurn(place int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turn = place
	a.signal()
}

func (a *Ahead) signal() {
	close(a.changed)
	a.changed = make(chan struct{})
}

// give returns n bytes.
func (a *Ahead) give(n uint64) {
	if n == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used -= n
	a.signal()
}

// given is closed when bytes are returned, or a turn comes.
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
