package blobio

import (
	"context"
	"io"
	"iter"
	"sync/atomic"
)

// counted counts what passes through it, one request for each call and what the driver counts beyond it. It is
// the lowest layer: it sees each attempt.
type counted struct {
	bucket Bucket
	core   *core
}

// on makes sure of a chain: calls from outside of a Client may be on none.
func (b *counted) on(t *Trace) Trace {
	if t.core == nil {
		*t = Trace{core: b.core, chain: &b.core.root}
	}
	return *t
}

// several is on for calls that may make requests one after another.
func (b *counted) several(t *Trace) Trace {
	b.on(t)
	t.more = new(atomic.Int64)
	return *t
}

func (b *counted) ReadRange(ctx context.Context, key string, off int64, dst []byte, opts ReadOptions) (int, Info, error) {
	answered := b.on(&opts.Trace).request()
	n, info, err := b.bucket.ReadRange(ctx, key, off, dst, opts)
	answered()
	b.core.tally.gets.Add(1)
	b.core.tally.getBytes.Add(int64(n))
	return n, info, err
}

func (b *counted) ReadSuffix(ctx context.Context, key string, n int64, opts ReadOptions) ([]byte, Info, error) {
	answered := b.several(&opts.Trace).request()
	data, info, err := b.bucket.ReadSuffix(ctx, key, n, opts)
	answered()
	b.core.tally.gets.Add(1)
	b.core.tally.getBytes.Add(int64(len(data)))
	return data, info, err
}

func (b *counted) Open(ctx context.Context, key string, off int64, opts ReadOptions) (io.ReadCloser, Info, error) {
	answered := b.on(&opts.Trace).request()
	r, info, err := b.bucket.Open(ctx, key, off, opts)
	answered()
	b.core.tally.gets.Add(1)
	if err != nil {
		return nil, info, err
	}
	return &countedReader{ReadCloser: r, tally: &b.core.tally}, info, nil
}

func (b *counted) Stat(ctx context.Context, key string, opts ReadOptions) (Info, error) {
	defer b.on(&opts.Trace).request()()
	b.core.tally.heads.Add(1)
	return b.bucket.Stat(ctx, key, opts)
}

func (b *counted) List(ctx context.Context, prefix string, opts ListOptions) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		answered := b.on(&opts.Trace).request()
		b.core.tally.lists.Add(1)
		first := true
		for info, err := range b.bucket.List(ctx, prefix, opts) {
			if first {
				answered()
				first = false
			}
			if !yield(info, err) {
				return
			}
		}
		if first {
			answered()
		}
	}
}

func (b *counted) Create(ctx context.Context, key string, opts CreateOptions) (Writer, error) {
	trace := b.on(&opts.Trace)
	w, err := b.bucket.Create(ctx, key, opts)
	if err != nil {
		defer trace.request()()
		b.core.tally.puts.Add(1)
		return nil, err
	}
	return &countedWriter{Writer: w, tally: &b.core.tally, trace: trace}, nil
}

func (b *counted) Delete(ctx context.Context, key string, opts DeleteOptions) error {
	defer b.several(&opts.Trace).request()()
	b.core.tally.deletes.Add(1)
	return b.bucket.Delete(ctx, key, opts)
}

func (b *counted) Close() error { return b.bucket.Close() }

type countedReader struct {
	io.ReadCloser
	tally *tally
}

func (r *countedReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.tally.getBytes.Add(int64(n))
	return n, err
}

// countedWriter counts an object as one PUT, made when it is committed, and what the driver counts beyond it.
type countedWriter struct {
	Writer
	tally *tally
	trace Trace
	done  bool
}

func (w *countedWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.tally.putBytes.Add(int64(n))
	return n, err
}

func (w *countedWriter) Close() error {
	if w.done {
		return w.Writer.Close()
	}
	w.done = true
	defer w.trace.request()()
	w.tally.puts.Add(1)
	return w.Writer.Close()
}
