package blobio

import (
	"context"
	"io"
	"iter"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
)

// limited bounds the requests to one bucket at a time, and how fast after it reported that it is busy. A stream or a
// list holds no slot while its consumer works: the consumer may make requests of its own.
type limited struct {
	Bucket
	slots *semaphore.Weighted
	pace  pace
}

const (
	// shortRead is the most bytes of a read that takes half a slot: at 50 MiB/s they take 5 ms, beside 30 ms to the first byte, in
	// which a link carries nothing. 128 of them have 32 MiB, and at 30 ms are 4,300 requests a second, below the 5,500 of one prefix on S3.
	shortRead = 256 << 10
	halfSlot  = 1
	wholeSlot = 2
)

func newLimited(bucket Bucket, slots int) *limited {
	return &limited{Bucket: bucket, slots: semaphore.NewWeighted(int64(slots) * wholeSlot)}
}

// slotOf is the share of a slot that a read of n bytes takes.
func slotOf(n int64) int64 {
	if n <= shortRead {
		return halfSlot
	}
	return wholeSlot
}

// admit makes one request, which takes a share of a slot.
func (g *limited) admit(ctx context.Context, op, key string, slot int64, request func() error) error {
	if g.slots.Acquire(ctx, slot) != nil {
		return NewError(op, key, ErrCanceled, context.Cause(ctx))
	}
	defer g.slots.Release(slot)
	if err := g.pace.wait(ctx); err != nil {
		return NewError(op, key, ErrCanceled, err)
	}
	begin := time.Now()
	err := request()
	g.pace.answered(begin, Class(err) == ErrThrottled)
	return err
}

func (g *limited) ReadRange(ctx context.Context, key string, off int64, dst []byte, opts ReadOptions) (n int, info Info, err error) {
	err = g.admit(ctx, "read", key, slotOf(int64(len(dst))), func() error {
		n, info, err = g.Bucket.ReadRange(ctx, key, off, dst, opts)
		return err
	})
	return n, info, err
}

func (g *limited) ReadSuffix(ctx context.Context, key string, n int64, opts ReadOptions) (b []byte, info Info, err error) {
	err = g.admit(ctx, "read", key, slotOf(n), func() error {
		b, info, err = g.Bucket.ReadSuffix(ctx, key, n, opts)
		return err
	})
	return b, info, err
}

func (g *limited) Open(ctx context.Context, key string, off int64, opts ReadOptions) (r io.ReadCloser, info Info, err error) {
	err = g.admit(ctx, "open", key, wholeSlot, func() error {
		r, info, err = g.Bucket.Open(ctx, key, off, opts)
		return err
	})
	return r, info, err
}

func (g *limited) Stat(ctx context.Context, key string, opts ReadOptions) (info Info, err error) {
	err = g.admit(ctx, "stat", key, wholeSlot, func() error {
		info, err = g.Bucket.Stat(ctx, key, opts)
		return err
	})
	return info, err
}

func (g *limited) List(ctx context.Context, prefix string, opts ListOptions) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		if err := g.pace.wait(ctx); err != nil {
			yield(Info{}, NewError("list", prefix, ErrCanceled, err))
			return
		}
		begin := time.Now()
		for info, err := range g.Bucket.List(ctx, prefix, opts) {
			if err != nil {
				g.pace.answered(begin, Class(err) == ErrThrottled)
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

func (g *limited) Create(ctx context.Context, key string, opts CreateOptions) (Writer, error) {
	w, err := g.Bucket.Create(ctx, key, opts)
	if err != nil {
		return nil, err
	}
	return &limitedWriter{Writer: w, g: g, ctx: ctx, key: key}, nil
}

type limitedWriter struct {
	Writer
	g   *limited
	ctx context.Context
	key string
}

// CopyAfter implements RangeCopier.
func (w *limitedWriter) CopyAfter() int64 { return copyAfter(w.Writer) }

// CopyRange implements RangeCopier.
func (w *limitedWriter) CopyRange(key string, off, size int64, etag string) error {
	return copyRange(w.Writer, key, off, size, etag)
}

func (w *limitedWriter) Close() error {
	err := w.g.admit(w.ctx, "create", w.key, wholeSlot, w.Writer.Close)
	if Class(err) == ErrCanceled {
		w.Writer.Abort() // it may never have come to Close
	}
	return err
}

func (g *limited) Delete(ctx context.Context, key string, opts DeleteOptions) error {
	return g.admit(ctx, "delete", key, wholeSlot, func() error { return g.Bucket.Delete(ctx, key, opts) })
}

// pace is a token bucket that has no limit until the store reports that it is busy. Then the limit is half of the rate
// of requests. It grows by a quarter for each second without such an answer, is halved again for one
// with, and falls away once it is twice the rate that was too much.
type pace struct {
	mu      sync.Mutex
	tokens  *rate.Limiter // nil: no limit
	peak    float64       // requests per second when the store was last busy
	changed time.Time     // when tokens got their limit
	busy    bool          // the store was, since then

	second      int64 // in which count happened
	count, last float64
}

const (
	// slowest is the lowest limit, in requests per second: one that still finds out that the store recovered.
	slowest = 1
	// harmless is a rate in requests per second that makes no store busy by itself. A short command that sent
	// for less is not slowed to a crawl by one busy answer; more of them still halve its rate down to slowest.
	harmless = 32
)

func (p *pace) wait(ctx context.Context) error {
	p.mu.Lock()
	p.tick()
	p.count++
	tokens := p.tokens
	p.mu.Unlock()
	if tokens == nil {
		return nil
	}
	return tokens.Wait(ctx)
}

// tick keeps the counts of this second and of the one before. It is called with the lock held.
func (p *pace) tick() {
	now := time.Now().Unix()
	switch now - p.second {
	case 0:
		return
	case 1:
		p.last = p.count
	default:
		p.last = 0
	}
	p.second, p.count = now, 0
}

// answered adapts the limit, at most once a second: an overload brings many bad answers. Those to requests
// from before the last change say nothing about it.
func (p *pace) answered(begin time.Time, busy bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !busy && p.tokens == nil || begin.Before(p.changed) {
		return
	}
	p.busy = p.busy || busy
	if p.tokens != nil && time.Since(p.changed) < time.Second {
		return
	}
	if p.busy {
		p.tick()
		p.peak = max(p.last, p.count, harmless)
		limit := p.peak / 2
		if p.tokens != nil {
			limit = min(limit, float64(p.tokens.Limit())/2)
		}
		p.limit(max(limit, slowest))
		return
	}
	if limit := float64(p.tokens.Limit()) * 1.25; limit < 2*p.peak {
		p.limit(limit)
	} else {
		p.tokens = nil
	}
}

func (p *pace) limit(perSecond float64) {
	p.changed, p.busy = time.Now(), false
	burst := max(1, int(perSecond/10))
	if p.tokens == nil {
		p.tokens = rate.NewLimiter(rate.Limit(perSecond), burst)
		return
	}
	p.tokens.SetLimit(rate.Limit(perSecond))
	p.tokens.SetBurst(burst)
}
