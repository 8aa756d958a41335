package blobfake

import (
	"context"
	"io"
	"iter"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
)

// Canceling is a bucket that cancels a context in the middle of one of its requests and counts those that begin afterwards. A Client takes it for
// a remote one. A PUT is made by Close of a writer.
type Canceling struct {
	bucket blobio.Bucket

	mu      sync.Mutex
	at, now int
	lost    bool
	cancel  func()
	op      string
	writes  int
	ended   bool
	late    []string
	dead    int
}

var _ blobio.Bucket = (*Canceling)(nil)

// NewCanceling wraps a bucket.
func NewCanceling(bucket blobio.Bucket) *Canceling { return &Canceling{bucket: bucket} }

// CancelAt counts requests from 1 again and calls cancel in the n-th. lost: a write is done before its caller hears of the cancellation, else it is not.
func (c *Canceling) CancelAt(n int, lost bool, cancel func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.now, c.lost, c.cancel, c.op, c.writes, c.ended, c.late, c.dead = n, 0, lost, cancel, "", 0, false, nil, 0
}

// Canceled is the request in which the context was canceled, as "get KEY", empty if it did not come.
func (c *Canceling) Canceled() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.op
}

// Writes is how many writes began, canceled ones among them.
func (c *Canceling) Writes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writes
}

// Late lists the requests that began after the cancellation under a context that does not end with the canceled one, as "get KEY". dead counts those
// under a context that had ended, which a driver does not send.
func (c *Canceling) Late() (late []string, dead int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.late...), c.dead
}

// begin counts a request and returns the context under which the bucket sees it.
func (c *Canceling) begin(ctx context.Context, op, key string) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	write := op == "put" || op == "delete"
	if write {
		c.writes++
	}
	if c.ended {
		if ctx.Err() != nil {
			c.dead++
		} else {
			c.late = append(c.late, op+" "+key)
		}
		return ctx
	}
	if c.now++; c.now != c.at {
		return ctx
	}
	c.cancel()
	c.ended, c.op = true, op+" "+key
	if c.lost && write {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// end is the answer to a write that was done: that of a context which ended meanwhile.
func end(ctx, sent context.Context, op, key string, err error) error {
	if err == nil && ctx != sent && ctx.Err() != nil {
		return blobio.NewError(op, key, blobio.ErrCanceled, context.Cause(ctx))
	}
	return err
}

// ReadRange implements blobio.BucketReader.
func (c *Canceling) ReadRange(ctx context.Context, key string, off int64, dst []byte, opts blobio.ReadOptions) (int, blobio.Info, error) {
	return c.bucket.ReadRange(c.begin(ctx, "get", key), key, off, dst, opts)
}

// ReadSuffix implements blobio.BucketReader.
func (c *Canceling) ReadSuffix(ctx context.Context, key string, n int64, opts blobio.ReadOptions) ([]byte, blobio.Info, error) {
	return c.bucket.ReadSuffix(c.begin(ctx, "get", key), key, n, opts)
}

// Open implements blobio.BucketReader.
func (c *Canceling) Open(ctx context.Context, key string, off int64, opts blobio.ReadOptions) (io.ReadCloser, blobio.Info, error) {
	return c.bucket.Open(c.begin(ctx, "get", key), key, off, opts)
}

// Stat implements blobio.BucketReader.
func (c *Canceling) Stat(ctx context.Context, key string, opts blobio.ReadOptions) (blobio.Info, error) {
	return c.bucket.Stat(c.begin(ctx, "stat", key), key, opts)
}

// List implements blobio.BucketReader.
func (c *Canceling) List(ctx context.Context, prefix string, opts blobio.ListOptions) iter.Seq2[blobio.Info, error] {
	return func(yield func(blobio.Info, error) bool) {
		c.bucket.List(c.begin(ctx, "list", prefix), prefix, opts)(yield)
	}
}

// Create implements blobio.Bucket.
func (c *Canceling) Create(ctx context.Context, key string, opts blobio.CreateOptions) (blobio.Writer, error) {
	// The context of a writer is that of Create, so the one below must not end with it.
	w, err := c.bucket.Create(context.WithoutCancel(ctx), key, opts)
	if err != nil {
		return nil, err
	}
	return &cancelingWriter{Writer: w, c: c, ctx: ctx, key: key}, nil
}

type cancelingWriter struct {
	blobio.Writer
	c   *Canceling
	ctx context.Context
	key string
}

func (w *cancelingWriter) Close() error {
	sent := w.c.begin(w.ctx, "put", w.key)
	if sent.Err() != nil {
		w.Abort()
		return blobio.NewError("create", w.key, blobio.ErrCanceled, context.Cause(w.ctx))
	}
	return end(w.ctx, sent, "create", w.key, w.Writer.Close())
}

// Delete implements blobio.Bucket.
func (c *Canceling) Delete(ctx context.Context, key string, opts blobio.DeleteOptions) error {
	sent := c.begin(ctx, "delete", key)
	return end(ctx, sent, "delete", key, c.bucket.Delete(sent, key, opts))
}

// Close implements blobio.Bucket.
func (c *Canceling) Close() error { return c.bucket.Close() }

// AwaitGoroutines waits until no more than n goroutines run, as many as before work that was canceled, and fails the test if others stay for seconds.
func AwaitGoroutines(t testing.TB, n int) {
	t.Helper()
	for wait := time.Millisecond; runtime.NumGoroutine() > n; wait *= 2 {
		if wait > 5*time.Second {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), n)
		}
		time.Sleep(wait)
	}
}
