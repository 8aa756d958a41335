package blobio

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// timed gives up requests that bring nothing for too long. It stands below the limits on requests, so that waiting for
// one's turn is not a stall. The end of its time limit is a fault of the store: ErrTransient.
type timed struct {
	Bucket
	policy RetryPolicy
}

// errStalled is the cause of a request that was given up.
var errStalled = errors.New("no response in time (see --request-timeout)")

// within runs a request that moves n bytes.
func (b *timed) within(ctx context.Context, n int64, op, key string, request func(ctx context.Context) error) error {
	limited, cancel := context.WithTimeoutCause(ctx, b.policy.Allow(n), errStalled)
	defer cancel()
	return blame(ctx, op, key, request(limited))
}

// blame makes a cancellation that isn't the caller's a fault of the store.
func blame(ctx context.Context, op, key string, err error) error {
	if err == nil || ctx.Err() != nil || Class(err) != ErrCanceled {
		return err
	}
	late := &Error{Op: op, URL: key, Class: ErrTransient, Err: errStalled}
	var e *Error
	if errors.As(err, &e) {
		late.URL = e.URL
	}
	return late
}

func (b *timed) ReadRange(ctx context.Context, key string, off int64, dst []byte, opts ReadOptions) (n int, info Info, err error) {
	err = b.within(ctx, int64(len(dst)), "read", key, func(ctx context.Context) error {
		n, info, err = b.Bucket.ReadRange(ctx, key, off, dst, opts)
		return err
	})
	return n, info, err
}

func (b *timed) ReadSuffix(ctx context.Context, key string, n int64, opts ReadOptions) (data []byte, info Info, err error) {
	err = b.within(ctx, n, "read", key, func(ctx context.Context) error {
		data, info, err = b.Bucket.ReadSuffix(ctx, key, n, opts)
		return err
	})
	return data, info, err
}

func (b *timed) Stat(ctx context.Context, key string, opts ReadOptions) (info Info, err error) {
	err = b.within(ctx, 0, "stat", key, func(ctx context.Context) error {
		info, err = b.Bucket.Stat(ctx, key, opts)
		return err
	})
	return info, err
}

func (b *timed) Delete(ctx context.Context, key string, opts DeleteOptions) error {
	return b.within(ctx, 0, "delete", key, func(ctx context.Context) error { return b.Bucket.Delete(ctx, key, opts) })
}

// List limits the time to each key, which is that of a page where a new one is requested.
func (b *timed) List(ctx context.Context, prefix string, opts ListOptions) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		watched, w := newWatch(ctx, "list", prefix)
		defer w.end(nil)
		timer := time.AfterFunc(b.policy.Stall, func() { w.end(errStalled) })
		defer timer.Stop()
		for info, err := range b.Bucket.List(watched, prefix, opts) {
			timer.Stop() // while the consumer works
			if !yield(info, blame(ctx, "list", prefix, err)) {
				return
			}
			timer.Reset(b.policy.Stall)
		}
	}
}

// watch is a context that ends when one step of a longer exchange takes too long.
type watch struct {
	outer context.Context
	end   context.CancelCauseFunc
	op    string
	key   string
}

func newWatch(ctx context.Context, op, key string) (context.Context, *watch) {
	watched, end := context.WithCancelCause(ctx)
	return watched, &watch{outer: ctx, end: end, op: op, key: key}
}

// step runs one step.
func (w *watch) step(limit time.Duration, do func() error) error {
	timer := time.AfterFunc(limit, func() { w.end(errStalled) })
	defer timer.Stop()
	return blame(w.outer, w.op, w.key, do())
}

func (b *timed) Open(ctx context.Context, key string, off int64, opts ReadOptions) (io.ReadCloser, Info, error) {
	watched, w := newWatch(ctx, "read", key)
	var body io.ReadCloser
	var info Info
	err := w.step(b.policy.Stall, func() (err error) {
		body, info, err = b.Bucket.Open(watched, key, off, opts)
		return err
	})
	if err != nil {
		w.end(nil)
		return nil, info, err
	}
	return &watchedReader{body: body, w: w, stall: b.policy.Stall}, info, nil
}

type watchedReader struct {
	body  io.ReadCloser
	w     *watch
	stall time.Duration
}

func (r *watchedReader) Read(p []byte) (n int, err error) {
	err = r.w.step(r.stall, func() error {
		n, err = r.body.Read(p)
		return err
	})
	return n, err
}

func (r *watchedReader) Close() error {
	r.w.end(nil)
	return r.body.Close()
}

func (b *timed) Create(ctx context.Context, key string, opts CreateOptions) (Writer, error) {
	watched, w := newWatch(ctx, "create", key)
	writer, err := b.Bucket.Create(watched, key, opts)
	if err != nil {
		w.end(nil)
		return nil, err
	}
	return &watchedWriter{Writer: writer, w: w, b: b}, nil
}

// watchedWriter limits each call by what a request may take and the time that the driver may spend on repeating those of an
// upload in parts, each of which has a limit of its own.
type watchedWriter struct {
	Writer
	w    *watch
	b    *timed
	size int64
}

func (w *watchedWriter) Write(p []byte) (n int, err error) {
	w.size += int64(len(p))
	err = w.w.step(w.b.policy.AllowEnd(w.size)+w.b.policy.Budget, func() error {
		n, err = w.Writer.Write(p)
		return err
	})
	return n, err
}

// CopyAfter implements RangeCopier.
func (w *watchedWriter) CopyAfter() int64 { return copyAfter(w.Writer) }

// CopyRange implements RangeCopier. The store has as long for the bytes as the network would have.
func (w *watchedWriter) CopyRange(key string, off, size int64, etag string) error {
	err := w.w.step(w.b.policy.AllowEnd(w.size+size)+w.b.policy.Budget, func() error { return copyRange(w.Writer, key, off, size, etag) })
	if err == nil {
		w.size += size
	}
	return err
}

func (w *watchedWriter) Close() error {
	defer w.w.end(nil)
	return w.w.step(w.b.policy.AllowEnd(w.size)+w.b.policy.Budget, w.Writer.Close)
}

func (w *watchedWriter) Abort() {
	w.Writer.Abort()
	w.w.end(nil)
}
