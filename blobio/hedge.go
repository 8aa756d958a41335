package blobio

import (
	"context"
	"math/bits"
	"slices"
	"sync"
	"time"
)

// hedged sends a second request when a ranged read takes longer than nearly all its likes did, and takes the
// answer that comes first. The second requests are a bounded share of all.
type hedged struct {
	Bucket
	share float64

	mu     sync.Mutex
	credit float64 // second requests that may be made now
	seen   [hedgeClasses]latencies
}

const (
	// hedgeShare is the share of reads that may be made twice: what lies above the 95th percentile.
	hedgeShare = 0.05
	// hedgeCredit bounds what quiet times save up.
	hedgeCredit = 10
	// hedgeClasses are ranges of length by powers of two, from 64 KiB to 8 MiB and more: a long read takes
	// longer than a short one.
	hedgeClasses = 9
)

func hedgeClass(n int) int { return min(bits.Len(uint(n)>>16), hedgeClasses-1) }

func (h *hedged) ReadRange(ctx context.Context, key string, off int64, dst []byte, opts ReadOptions) (int, Info, error) {
	class := hedgeClass(len(dst))
	begin := time.Now()
	delay, ok := h.delay(class)
	if !ok {
		n, info, err := h.Bucket.ReadRange(ctx, key, off, dst, opts)
		h.note(class, begin, err)
		return n, info, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := rangeRead{key, off, dst, opts}
	first := h.ask(ctx, r)
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case a := <-first:
		h.note(class, begin, a.err)
		return a.n, a.info, a.err
	case <-timer.C:
	}
	if !h.pay() {
		a := <-first
		h.note(class, begin, a.err)
		return a.n, a.info, a.err
	}
	n, info, err := h.race(ctx, cancel, first, r)
	h.note(class, begin, err)
	return n, info, err
}

// answer is what one of the two requests brought.
type answer struct {
	n    int
	info Info
	data []byte
	err  error
}

// rangeRead is what ReadRange of a bucket gets.
type rangeRead struct {
	key  string
	off  int64
	dst  []byte
	opts ReadOptions
}

func (h *hedged) ask(ctx context.Context, r rangeRead) <-chan answer {
	done := make(chan answer, 1)
	go func() {
		n, info, err := h.Bucket.ReadRange(ctx, r.key, r.off, r.dst, r.opts)
		done <- answer{n, info, r.dst, err}
	}()
	return done
}

// race makes the second request, into memory of its own. The first one still writes to dst, so it is waited
// for before dst is touched; both end with the context.
func (h *hedged) race(ctx context.Context, cancel func(), first <-chan answer, r rangeRead) (int, Info, error) {
	dst := r.dst
	r.dst = make([]byte, len(dst))
	second := h.ask(ctx, r)
	select {
	case a := <-first:
		if a.err != nil {
			if b := <-second; b.err == nil {
				copy(dst, b.data)
				return b.n, b.info, nil
			}
		}
		return a.n, a.info, a.err
	case b := <-second:
		if b.err != nil {
			a := <-first
			return a.n, a.info, a.err
		}
		cancel()
		<-first
		copy(dst, b.data)
		return b.n, b.info, nil
	}
}

// delay is how long to wait before retrying; false while too little is known.
func (h *hedged) delay(class int) (time.Duration, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.credit = min(h.credit+h.share, hedgeCredit)
	return h.seen[class].p95()
}

// pay takes the price of a second request, if there is credit.
func (h *hedged) pay() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.credit < 1 {
		return false
	}
	h.credit--
	return true
}

func (h *hedged) note(class int, begin time.Time, err error) {
	if err != nil {
		return
	}
	took := time.Since(begin)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen[class].add(took)
}

// latencies are the last times of a class, and their 95th percentile as of every few.
type latencies struct {
	times  [200]time.Duration
	n      int // ever added
	cached time.Duration
}

// minLatencies is how many times must be known for a percentile, and how often it is computed again.
const minLatencies = 20

func (l *latencies) add(d time.Duration) {
	l.times[l.n%len(l.times)] = d
	l.n++
	if l.n%minLatencies == 0 {
		known := slices.Clone(l.times[:min(l.n, len(l.times))])
		slices.Sort(known)
		l.cached = known[(len(known)-1)*95/100] + time.Microsecond // behind those that take just as long
	}
}

func (l *latencies) p95() (time.Duration, bool) { return l.cached, l.n >= minLatencies }
