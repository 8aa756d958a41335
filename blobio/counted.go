package blobio

import (
	"context"
	"io"
	"iter"
)

// counted counts what passes through it: the requests that the driver reports about a call, or else one. It is the lowest
// layer: it sees each attempt.
type counted struct {
	bucket Bucket
	core   *core
	store  *tally
	local  bool // the driver makes no requests
}

// call is a call of a bucket's or a writer's method on its way.
type call struct {
	trace  Trace
	depth  int64 // of the chain where the call began
	before int64 // requests that were reported before it
}

// begin makes sure of a chain: calls from outside of a Client may be on none.
func (b *counted) begin(t *Trace) call {
	if t.core == nil {
		*t = Trace{core: b.core, chain: &b.core.root}
	}
	if t.made == nil && !b.local {
		t.made = new(made)
	}
	t.store = b.store
	return t.begin()
}

func (t Trace) begin() call {
	c := call{trace: t, depth: t.chain.depth.Load()}
	if t.made != nil {
		c.before = t.made.requests.Load()
	}
	return c
}

// end counts a call whose driver reported no request as one request.
func (c call) end(one Counters) {
	var waited int64
	told := false
	if m := c.trace.made; m != nil {
		waited, told = m.waited.Swap(0), m.requests.Load() > c.before
	}
	if !told {
		c.trace.tallies().add(one)
		waited += one.Depth
	}
	if waited > 0 {
		c.trace.core.reach(c.trace.chain, c.depth+waited)
	}
}

// What a call is counted as whose driver reports nothing.
var (
	oneGet    = Counters{Gets: 1, Depth: 1}
	oneHead   = Counters{Heads: 1, Depth: 1}
	oneList   = Counters{Lists: 1, Depth: 1}
	onePut    = Counters{Puts: 1, Depth: 1}
	oneDelete = Counters{Deletes: 1, Depth: 1}
)

func (b *counted) ReadRange(ctx context.Context, key string, off int64, dst []byte, opts ReadOptions) (int, Info, error) {
	call := b.begin(&opts.Trace)
	n, info, err := b.bucket.ReadRange(ctx, key, off, dst, opts)
	call.end(oneGet)
	opts.Trace.tallies().got(int64(n))
	return n, info, err
}

func (b *counted) ReadSuffix(ctx context.Context, key string, n int64, opts ReadOptions) ([]byte, Info, error) {
	call := b.begin(&opts.Trace)
	data, info, err := b.bucket.ReadSuffix(ctx, key, n, opts)
	call.end(oneGet)
	opts.Trace.tallies().got(int64(len(data)))
	return data, info, err
}

func (b *counted) Open(ctx context.Context, key string, off int64, opts ReadOptions) (io.ReadCloser, Info, error) {
	call := b.begin(&opts.Trace)
	r, info, err := b.bucket.Open(ctx, key, off, opts)
	call.end(oneGet)
	if err != nil {
		return nil, info, err
	}
	return &countedReader{ReadCloser: r, tally: opts.Trace.tallies()}, info, nil
}

func (b *counted) Stat(ctx context.Context, key string, opts ReadOptions) (Info, error) {
	defer b.begin(&opts.Trace).end(oneHead)
	return b.bucket.Stat(ctx, key, opts)
}

// List counts the pages as they come: what the receiver of a key requests meanwhile comes before the next page.
func (b *counted) List(ctx context.Context, prefix string, opts ListOptions) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		call, first := b.begin(&opts.Trace), oneList
		for info, err := range b.bucket.List(ctx, prefix, opts) {
			call.end(first)
			if !yield(info, err) {
				return
			}
			call, first = opts.Trace.begin(), Counters{}
		}
		call.end(first)
	}
}

func (b *counted) Create(ctx context.Context, key string, opts CreateOptions) (Writer, error) {
	call := b.begin(&opts.Trace)
	w, err := b.bucket.Create(ctx, key, opts)
	if err != nil {
		call.end(onePut)
		return nil, err
	}
	call.end(Counters{})
	return &countedWriter{Writer: w, tally: opts.Trace.tallies(), trace: opts.Trace}, nil
}

func (b *counted) Delete(ctx context.Context, key string, opts DeleteOptions) error {
	defer b.begin(&opts.Trace).end(oneDelete)
	return b.bucket.Delete(ctx, key, opts)
}

func (b *counted) Close() error { return b.bucket.Close() }

type countedReader struct {
	io.ReadCloser
	tally both
}

func (r *countedReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.tally.got(int64(n))
	return n, err
}

// countedWriter counts an object whose driver reports no requests as one PUT, made when it is committed.
type countedWriter struct {
	Writer
	tally both
	trace Trace
	done  bool
}

func (w *countedWriter) Write(p []byte) (int, error) {
	defer w.trace.begin().end(Counters{})
	n, err := w.Writer.Write(p)
	w.tally.gave(int64(n))
	return n, err
}

// CopyAfter implements RangeCopier.
func (w *countedWriter) CopyAfter() int64 { return copyAfter(w.Writer) }

// CopyRange implements RangeCopier. The driver reports the requests; no byte comes by here.
func (w *countedWriter) CopyRange(key string, off, size int64, etag string) error {
	defer w.trace.begin().end(Counters{})
	return copyRange(w.Writer, key, off, size, etag)
}

func (w *countedWriter) Close() error {
	if w.done {
		return w.Writer.Close()
	}
	w.done = true
	defer w.trace.begin().end(onePut)
	return w.Writer.Close()
}
