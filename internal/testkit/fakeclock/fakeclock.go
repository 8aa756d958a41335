// Package fakeclock gives tests a clock that stands still until it is advanced, and a store whose objects were
// written at that clock's times.
package fakeclock

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/shardcat/shardcat/blobio"
)

// Clock is a clock that tests move. Safe for concurrent use.
type Clock struct {
	mu      sync.Mutex
	now     time.Time
	written map[string]time.Time
}

// New makes a clock that shows start.
func New(start time.Time) *Clock { return &Clock{now: start, written: map[string]time.Time{}} }

// Now is the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *Clock) wrote(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.written[key] = c.now
}

func (c *Clock) stamp(info blobio.Info) blobio.Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.written[info.Key]; ok {
		info.ModTime = at
	}
	return info
}

// Bucket is a bucket whose objects carry the clock's times. Several may stand before one bucket.
type Bucket struct {
	blobio.Bucket
	Clock *Clock
}

// ReadRange implements blobio.BucketReader.
func (b *Bucket) ReadRange(ctx context.Context, key string, off int64, dst []byte, o blobio.ReadOptions) (int, blobio.Info, error) {
	n, info, err := b.Bucket.ReadRange(ctx, key, off, dst, o)
	return n, b.Clock.stamp(info), err
}

// ReadSuffix implements blobio.BucketReader.
func (b *Bucket) ReadSuffix(ctx context.Context, key string, n int64, o blobio.ReadOptions) ([]byte, blobio.Info, error) {
	data, info, err := b.Bucket.ReadSuffix(ctx, key, n, o)
	return data, b.Clock.stamp(info), err
}

// Stat implements blobio.BucketReader.
func (b *Bucket) Stat(ctx context.Context, key string, o blobio.ReadOptions) (blobio.Info, error) {
	info, err := b.Bucket.Stat(ctx, key, o)
	return b.Clock.stamp(info), err
}

// List implements blobio.BucketReader.
func (b *Bucket) List(ctx context.Context, prefix string, o blobio.ListOptions) iter.Seq2[blobio.Info, error] {
	return func(yield func(blobio.Info, error) bool) {
		for info, err := range b.Bucket.List(ctx, prefix, o) {
			if !yield(b.Clock.stamp(info), err) {
				return
			}
		}
	}
}

// Create implements blobio.Bucket.
func (b *Bucket) Create(ctx context.Context, key string, o blobio.CreateOptions) (blobio.Writer, error) {
	w, err := b.Bucket.Create(ctx, key, o)
	if err != nil {
		return nil, err
	}
	return &writer{Writer: w, clock: b.Clock, key: key}, nil
}

type writer struct {
	blobio.Writer
	clock *Clock
	key   string
}

func (w *writer) Close() error {
	err := w.Writer.Close()
	if err == nil {
		w.clock.wrote(w.key)
	}
	return err
}
