package blobfake

import (
	"context"
	"io"
	"iter"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardcat/shardcat/blobio"
)

// Latency is how slow a store is. The zero value is as fast as the bucket below.
type Latency struct {
	// FirstByte is the time from a request to the first byte of its answer.
	FirstByte time.Duration
	// Rate in bytes per second of one stream; 0 is without limit.
	Rate int64
	// SlowShare of the reads (0…1) take SlowFirstByte to the first byte.
	SlowShare     float64
	SlowFirstByte time.Duration
	// Seed of the choice of slow ones.
	Seed uint64
}

// Cloud is an object store seen from a machine in its region, as published measurements have it: 30 ms to the
// first byte, 50 MiB/s per stream.
var Cloud = Latency{FirstByte: 30 * time.Millisecond, Rate: 50 << 20}

// Slow is a bucket behind a Latency. It is made for testing/synctest, where its time costs none; without it,
// it really waits. A Client takes it for a remote bucket.
type Slow struct {
	bucket blobio.Bucket
	l      Latency

	mu     sync.Mutex
	random *rand.Rand

	now, most atomic.Int64
}

var _ blobio.Bucket = (*Slow)(nil)

// NewSlow puts a latency before a bucket.
func NewSlow(bucket blobio.Bucket, l Latency) *Slow {
	return &Slow{bucket: bucket, l: l, random: rand.New(rand.NewPCG(l.Seed, 0))}
}

// MostAtOnce is the largest number of requests that were in flight together.
func (s *Slow) MostAtOnce() int { return int(s.most.Load()) }

// begin waits for the first byte of a request; the caller defers what it returns.
func (s *Slow) begin(ctx context.Context, op, key string, read bool) (end func(), err error) {
	at := s.now.Add(1)
	for old := s.most.Load(); at > old && !s.most.CompareAndSwap(old, at); old = s.most.Load() {
	}
	end = func() { s.now.Add(-1) }
	wait := s.l.FirstByte
	if read && s.isSlow() {
		wait = s.l.SlowFirstByte
	}
	return end, sleep(ctx, op, key, wait)
}

func (s *Slow) isSlow() bool {
	if s.l.SlowShare == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.Float64() < s.l.SlowShare
}

// transfer waits for n bytes to pass.
func (s *Slow) transfer(ctx context.Context, op, key string, n int) error {
	if s.l.Rate == 0 {
		return nil
	}
	return sleep(ctx, op, key, time.Duration(float64(n)/float64(s.l.Rate)*float64(time.Second)))
}

func sleep(ctx context.Context, op, key string, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return blobio.NewError(op, key, blobio.ErrCanceled, context.Cause(ctx))
	}
}

// ReadRange implements blobio.BucketReader.
func (s *Slow) ReadRange(ctx context.Context, key string, off int64, dst []byte, opts blobio.ReadOptions) (int, blobio.Info, error) {
	end, err := s.begin(ctx, "read", key, true)
	defer end()
	if err != nil {
		return 0, blobio.Info{}, err
	}
	n, info, err := s.bucket.ReadRange(ctx, key, off, dst, opts)
	if err != nil {
		return n, info, err
	}
	if err := s.transfer(ctx, "read", key, n); err != nil {
		return 0, info, err
	}
	return n, info, nil
}

// ReadSuffix implements blobio.BucketReader.
func (s *Slow) ReadSuffix(ctx context.Context, key string, n int64, opts blobio.ReadOptions) ([]byte, blobio.Info, error) {
	end, err := s.begin(ctx, "read", key, true)
	defer end()
	if err != nil {
		return nil, blobio.Info{}, err
	}
	b, info, err := s.bucket.ReadSuffix(ctx, key, n, opts)
	if err != nil {
		return nil, info, err
	}
	return b, info, s.transfer(ctx, "read", key, len(b))
}

// Open implements blobio.BucketReader.
func (s *Slow) Open(ctx context.Context, key string, off int64, opts blobio.ReadOptions) (io.ReadCloser, blobio.Info, error) {
	end, err := s.begin(ctx, "open", key, true)
	defer end()
	if err != nil {
		return nil, blobio.Info{}, err
	}
	r, info, err := s.bucket.Open(ctx, key, off, opts)
	if err != nil {
		return nil, info, err
	}
	return &slowReader{ReadCloser: r, s: s, ctx: ctx, key: key}, info, nil
}

type slowReader struct {
	io.ReadCloser
	s   *Slow
	ctx context.Context
	key string
}

func (r *slowReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if late := r.s.transfer(r.ctx, "read", r.key, n); late != nil {
		return n, late
	}
	return n, err
}

// Stat implements blobio.BucketReader.
func (s *Slow) Stat(ctx context.Context, key string, opts blobio.ReadOptions) (blobio.Info, error) {
	end, err := s.begin(ctx, "stat", key, false)
	defer end()
	if err != nil {
		return blobio.Info{}, err
	}
	return s.bucket.Stat(ctx, key, opts)
}

// List implements blobio.BucketReader.
func (s *Slow) List(ctx context.Context, prefix string, opts blobio.ListOptions) iter.Seq2[blobio.Info, error] {
	return func(yield func(blobio.Info, error) bool) {
		end, err := s.begin(ctx, "list", prefix, false)
		end()
		if err != nil {
			yield(blobio.Info{}, err)
			return
		}
		s.bucket.List(ctx, prefix, opts)(yield)
	}
}

// Create implements blobio.Bucket. The time passes in Close.
func (s *Slow) Create(ctx context.Context, key string, opts blobio.CreateOptions) (blobio.Writer, error) {
	w, err := s.bucket.Create(ctx, key, opts)
	if err != nil {
		return nil, err
	}
	return &slowWriter{Writer: w, s: s, ctx: ctx, key: key}, nil
}

type slowWriter struct {
	blobio.Writer
	s    *Slow
	ctx  context.Context
	key  string
	size int
}

func (w *slowWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.size += n
	return n, err
}

func (w *slowWriter) Close() error {
	end, err := w.s.begin(w.ctx, "create", w.key, false)
	defer end()
	if err == nil {
		err = w.s.transfer(w.ctx, "create", w.key, w.size)
	}
	w.size = 0
	if err != nil {
		w.Abort()
		return err
	}
	return w.Writer.Close()
}

// Delete implements blobio.Bucket.
func (s *Slow) Delete(ctx context.Context, key string, opts blobio.DeleteOptions) error {
	end, err := s.begin(ctx, "delete", key, false)
	defer end()
	if err != nil {
		return err
	}
	return s.bucket.Delete(ctx, key, opts)
}

// Close implements blobio.Bucket.
func (s *Slow) Close() error { return s.bucket.Close() }
