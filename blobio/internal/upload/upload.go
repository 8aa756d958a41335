// Package upload streams an object of unknown size to a store that takes it in numbered parts.
//
// An object that fits one part goes up in one request. A longer one is begun, its parts are sent as they
// fill, some at a time, and it is there only when the last request, the commit, has succeeded:
//
//	Write …  Close            Whole
//	Write …  Write …  Close   Begin, Part 0, Part 1, …, Part n−1, Commit n
//	… an error, Abort or a    Drop, on a context of its own, so that a cancelled
//	  cancelled context       writer leaves no parts behind that somebody pays for
//
// Memory is bounded by (Concurrency + 1) × PartSize, whatever the size of the object.
package upload

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/shardcat/shardcat/blobio"
)

// Target is one object on its way to a store. The upload calls Part concurrently, everything else in turn.
type Target interface {
	// Whole creates the object from body, in one request.
	Whole(ctx context.Context, body []byte) error
	// Begin starts an upload in parts. ctx ends when Begin returns.
	Begin(ctx context.Context) error
	// Part sends part n, counted from 0. Body is the target's until it returns.
	Part(ctx context.Context, n int, body []byte) error
	// Commit makes the object of the parts 0 to n−1.
	Commit(ctx context.Context, n int) error
	// Drop forgets the parts that were sent.
	Drop(ctx context.Context) error
}

// Copier is a Target whose parts may be ranges of other objects of the store.
type Copier interface {
	Target
	// CopyAllowed are the least and the most bytes of a part that is copied; the least is that of any part but the last.
	CopyAllowed() (least, most int64)
	// CopyPart makes part n. It is errors.ErrUnsupported if the store knows no such request.
	CopyPart(ctx context.Context, n int, of Copied) error
}

// Copied is a range of another object: Size bytes from Off on. Its ETag must be this one unless that is empty.
type Copied struct {
	Key       string
	Off, Size int64
	ETag      string
}

// Options bound an upload; the zero value is valid.
type Options struct {
	// PartSize in bytes, DefaultPartSize if 0. The last part may be shorter.
	PartSize int
	// Concurrency is the number of parts in flight, DefaultConcurrency if 0.
	Concurrency int
	// MaxParts is the store's limit on parts, DefaultMaxParts if 0.
	MaxParts int
	// SizeHint in bytes, 0 if unknown. A hint that MaxParts parts do not hold makes the parts larger.
	SizeHint int64
	// InParts sends also an object of one part by Begin, Part and Commit.
	InParts bool
	// Retry is for the requests of an upload in parts. All may safely be sent twice: nothing is seen of Begin, Part and
	// Drop before Commit, which makes the object only where there is none. Zero: each is made once. Its Stall limits
	// each request, also that of Whole, which is made once.
	Retry blobio.RetryPolicy
	// Wrap makes the caller's own error of what ended the upload; nil leaves it as it is.
	Wrap func(error) error
}

const (
	// DefaultPartSize of 8 MiB is above every store's minimum (5 MiB on S3) and makes 10,000 parts 78 GiB.
	DefaultPartSize = 8 << 20
	// DefaultConcurrency keeps two parts on the wire while a third one fills.
	DefaultConcurrency = 2
	// DefaultMaxParts is S3's limit, the lowest of the three clouds.
	DefaultMaxParts = 10_000
	// dropTimeout bounds the request that forgets an abandoned upload.
	dropTimeout = 15 * time.Second
	// firstBuffer is what a writer without a size hint allocates at first.
	firstBuffer = 64 << 10
)

// ErrTooManyParts means that an object without (or with a wrong) size hint outgrew the store's limit.
var ErrTooManyParts = errors.New("object needs more parts than the store allows")

// ErrEnded is what a writer answers after Close or Abort. It matches fs.ErrClosed.
var ErrEnded = fmt.Errorf("upload has ended: %w", fs.ErrClosed)

// withDefaults fills unset options and enlarges the parts until the hinted size fits.
func (o Options) withDefaults() Options {
	if o.PartSize <= 0 {
		o.PartSize = DefaultPartSize
	}
	if o.Concurrency <= 0 {
		o.Concurrency = DefaultConcurrency
	}
	if o.MaxParts <= 0 {
		o.MaxParts = DefaultMaxParts
	}
	if o.Wrap == nil {
		o.Wrap = func(err error) error { return err }
	}
	for int64(o.PartSize)*int64(o.MaxParts) < o.SizeHint {
		o.PartSize *= 2
	}
	return o
}

// Writer is an object on its way up. Not for concurrent use.
type Writer struct {
	target Target
	opts   Options
	// parent distinguishes a cancelled caller from a failed part; ctx ends with either.
	parent context.Context
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu    sync.Mutex // against a cancellation that comes between two calls
	buf   []byte
	parts int // handed to a sender so far
	size  int64
	begun bool
	ended bool

	sending sync.WaitGroup
	slots   chan []byte // a slot to send in, with the buffer of the part that was last in it
}

// NewWriter starts an upload. No request is made before a part is full or Close is called.
func NewWriter(ctx context.Context, target Target, opts Options) *Writer {
	w := &Writer{target: target, opts: opts.withDefaults(), parent: ctx}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.slots = make(chan []byte, w.opts.Concurrency)
	for range w.opts.Concurrency {
		w.slots <- nil
	}
	context.AfterFunc(ctx, w.cancelled)
	return w
}

// cancelled drops the parts of a writer that nobody will call again.
func (w *Writer) cancelled() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		_ = w.abandon(context.Cause(w.parent))
	}
}

// Write takes p into the current part and sends each part that is full. An error of an earlier part ends
// the upload.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.failure(); err != nil {
		return 0, err
	}
	n := 0
	for n < len(p) {
		if len(w.buf) == w.opts.PartSize {
			if err := w.send(); err != nil {
				return n, w.abandon(err)
			}
		}
		take := min(len(p)-n, w.opts.PartSize-len(w.buf))
		w.reserve(take)
		w.buf = append(w.buf, p[n:n+take]...)
		n += take
		w.size += int64(take)
	}
	return n, nil
}

// reserve makes space for take more bytes: by the hint at first, then by doubling, never above a part.
func (w *Writer) reserve(take int) {
	need := len(w.buf) + take
	if need <= cap(w.buf) {
		return
	}
	room := max(need, 2*cap(w.buf), firstBuffer)
	if w.buf == nil && w.opts.SizeHint > 0 {
		room = int(max(int64(need), min(w.opts.SizeHint, int64(w.opts.PartSize))))
	}
	grown := make([]byte, len(w.buf), min(room, w.opts.PartSize))
	copy(grown, w.buf)
	w.buf = grown
}

// CopyAfter implements blobio.RangeCopier.
func (w *Writer) CopyAfter() int64 {
	c, ok := w.target.(Copier)
	if !ok {
		return -1
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	least, _ := c.CopyAllowed()
	if len(w.buf) == 0 || least < 0 {
		return min(least, 0)
	}
	return max(least-int64(len(w.buf)), 0)
}

// CopyRange implements blobio.RangeCopier: what was written before becomes a part, and the range one or more. The first of them is waited for, to see
// whether the store can do it.
func (w *Writer) CopyRange(key string, off, size int64, etag string) error {
	if w.CopyAfter() != 0 {
		return errors.ErrUnsupported
	}
	c := w.target.(Copier)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.failure(); err != nil {
		return err
	}
	least, most := c.CopyAllowed()
	if size < least {
		return errors.ErrUnsupported
	}
	if len(w.buf) > 0 {
		if err := w.send(); err != nil {
			return w.abandon(err)
		}
	}
	if !w.begun {
		if err := w.repeat(w.ctx, w.allow(0), w.target.Begin); err != nil {
			return w.abandon(err)
		}
		w.begun = true
	}
	for first := true; size > 0; first = false {
		n := min(size, most)
		if left := size - n; left > 0 && left < least {
			n -= least // so that the last part is large enough, too
		}
		if w.parts == w.opts.MaxParts {
			return w.abandon(fmt.Errorf("%w: %d parts", ErrTooManyParts, w.opts.MaxParts))
		}
		part, from := w.parts, off
		request := func(ctx context.Context) error {
			return c.CopyPart(ctx, part, Copied{Key: key, Off: from, Size: n, ETag: etag})
		}
		if first {
			err := w.repeatCopy(w.allow(n), request)
			if errors.Is(err, errors.ErrUnsupported) {
				return err
			}
			if err != nil {
				return w.abandon(err)
			}
		} else {
			var body []byte
			select {
			case body = <-w.slots:
			case <-w.ctx.Done():
				return w.abandon(context.Cause(w.ctx))
			}
			w.sending.Go(func() {
				if err := w.repeatCopy(w.allow(n), request); err != nil {
					w.cancel(err)
				}
				w.slots <- body
			})
		}
		w.parts, off, size = part+1, off+n, size-n
		w.size += n
	}
	return nil
}

// Close sends the rest and commits. Nothing is at the key before it returned nil.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.failure(); err != nil {
		return err
	}
	if err := w.commit(); err != nil {
		return w.abandon(err)
	}
	w.ended = true
	w.cancel(ErrEnded)
	return nil
}

// commit makes the object of what was written: in one request if no part was sent yet.
func (w *Writer) commit() error {
	if !w.begun && !w.opts.InParts {
		return w.within(w.ctx, w.allowEnd(), func(ctx context.Context) error { return w.target.Whole(ctx, w.buf) })
	}
	if len(w.buf) > 0 || w.parts == 0 { // what was copied last may be the end
		if err := w.send(); err != nil {
			return err
		}
	}
	w.sending.Wait()
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	return w.repeatCommit()
}

// repeatCommit requests the commit until it is answered. A commit that was done although its answer was lost is refused
// the second time, each store in its own words: then the lost answer is the error, and the caller looks what is there.
func (w *Writer) repeatCommit() error {
	var unanswered error
	err := w.repeat(w.ctx, w.allowEnd(), func(ctx context.Context) error {
		err := w.target.Commit(ctx, w.parts)
		if unanswered == nil && errors.Is(err, blobio.ErrTransient) {
			unanswered = err
		}
		return err
	})
	if err != nil && unanswered != nil {
		return unanswered
	}
	return err
}

// Abort abandons the object; after Close it does nothing.
func (w *Writer) Abort() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		_ = w.abandon(ErrEnded)
	}
}

// send hands the current part to a sender as soon as a slot is free.
func (w *Writer) send() error {
	if !w.begun {
		if err := w.repeat(w.ctx, w.allow(0), w.target.Begin); err != nil {
			return err
		}
		w.begun = true
	}
	if w.parts == w.opts.MaxParts {
		return fmt.Errorf("%w: %d parts of %d bytes", ErrTooManyParts, w.opts.MaxParts, w.opts.PartSize)
	}
	var free []byte
	select {
	case free = <-w.slots:
	case <-w.ctx.Done():
		return context.Cause(w.ctx)
	}
	n, body := w.parts, w.buf
	w.parts, w.buf = n+1, free[:0]
	w.sending.Go(func() {
		part := func(ctx context.Context) error { return w.target.Part(ctx, n, body) }
		if err := w.repeat(w.ctx, w.allow(int64(len(body))), part); err != nil {
			w.cancel(err)
		}
		w.slots <- body
	})
	return nil
}

// failure is why the upload cannot go on, nil if it can. It reports the first cause again and again.
func (w *Writer) failure() error {
	if w.ended {
		return w.opts.Wrap(context.Cause(w.ctx))
	}
	if w.ctx.Err() != nil {
		return w.abandon(context.Cause(w.ctx))
	}
	return nil
}

// abandon waits for the senders, forgets what they sent and returns why: the first cause there was.
func (w *Writer) abandon(why error) error {
	w.ended = true
	w.cancel(why)
	w.sending.Wait()
	w.buf = nil
	if w.begun {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(w.parent), dropTimeout)
		defer cancel()
		_ = w.repeat(ctx, w.allow(0), w.target.Drop) // the lifecycle rule of docs/guides/object-stores.md catches what this leaves
	}
	return w.opts.Wrap(context.Cause(w.ctx))
}

// repeat makes a request that may be sent twice, each time with a limit.
func (w *Writer) repeat(ctx context.Context, limit time.Duration, request func(context.Context) error) error {
	return w.opts.Retry.Do(ctx, func() error { return w.within(ctx, limit, request) })
}

// copyAttempts bounds the attempts at a copy: its bytes can be fetched instead.
const copyAttempts = 6

// repeatCopy calls the store to copy a range.
func (w *Writer) repeatCopy(limit time.Duration, request func(context.Context) error) error {
	again := w.opts.Retry
	if again.Attempts == 0 || again.Attempts > copyAttempts {
		again.Attempts = copyAttempts
	}
	return again.Do(w.ctx, func() error { return w.within(w.ctx, limit, request) })
}

// within makes a request that ends after limit, if there is one. Whether it was done then is unknown.
func (w *Writer) within(ctx context.Context, limit time.Duration, request func(context.Context) error) error {
	if limit <= 0 {
		return request(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := request(limited)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return fmt.Errorf("%w: no response within %v", blobio.ErrTransient, limit)
	}
	return err
}

// allow is the time for a request that moves n bytes, 0 if there is no limit.
func (w *Writer) allow(n int64) time.Duration { return w.opts.Retry.Allow(n) }

// allowEnd is the time for the request that makes the object.
func (w *Writer) allowEnd() time.Duration { return w.opts.Retry.AllowEnd(w.size) }
