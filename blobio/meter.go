package blobio

import (
	"context"
	"errors"
	"io"
	"iter"
)

// metered counts what passes through it, one request for each call and what the driver counts beyond it. It is
// the lowest layer: it sees each attempt.
type metered struct {
	bucket Bucket
	client *Client
}

func (m *metered) ReadRange(ctx context.Context, key string, off int64, dst []byte) (Info, error) {
	answered := m.client.request(ctx)
	info, err := m.bucket.ReadRange(ctx, key, off, dst)
	answered()
	m.client.tally.gets.Add(1)
	m.client.tally.getBytes.Add(int64(arrived(dst, err)))
	return info, err
}

func (m *metered) ReadSuffix(ctx context.Context, key string, n int64) ([]byte, Info, error) {
	answered := m.client.request(ctx)
	b, info, err := m.bucket.ReadSuffix(m.client.withCall(ctx), key, n)
	answered()
	m.client.tally.gets.Add(1)
	m.client.tally.getBytes.Add(int64(len(b)))
	return b, info, err
}

func (m *metered) Open(ctx context.Context, key string, off int64) (io.ReadCloser, Info, error) {
	answered := m.client.request(ctx)
	r, info, err := m.bucket.Open(ctx, key, off)
	answered()
	m.client.tally.gets.Add(1)
	if err != nil {
		return nil, info, err
	}
	return &meteredReader{ReadCloser: r, tally: &m.client.tally}, info, nil
}

func (m *metered) Stat(ctx context.Context, key string) (Info, error) {
	defer m.client.request(ctx)()
	m.client.tally.heads.Add(1)
	return m.bucket.Stat(ctx, key)
}

func (m *metered) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		answered := m.client.request(ctx)
		m.client.tally.lists.Add(1)
		first := true
		for info, err := range m.bucket.List(m.client.withCall(ctx), prefix) {
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

func (m *metered) Create(ctx context.Context, key string, opts CreateOptions) (Writer, error) {
	w, err := m.bucket.Create(m.client.withCall(ctx), key, opts)
	if err != nil {
		defer m.client.request(ctx)()
		m.client.tally.puts.Add(1)
		return nil, err
	}
	return &meteredWriter{Writer: w, m: m, ctx: ctx}, nil
}

func (m *metered) Delete(ctx context.Context, key, etag string) error {
	defer m.client.request(ctx)()
	m.client.tally.deletes.Add(1)
	return m.bucket.Delete(m.client.withCall(ctx), key, etag)
}

func (m *metered) Close() error { return m.bucket.Close() }

type meteredReader struct {
	io.ReadCloser
	tally *tally
}

func (r *meteredReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.tally.getBytes.Add(int64(n))
	return n, err
}

// meteredWriter counts an object as one PUT, made when it is committed, and what the driver counts beyond it.
type meteredWriter struct {
	Writer
	m    *metered
	ctx  context.Context
	done bool
}

func (w *meteredWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.m.client.tally.putBytes.Add(int64(n))
	return n, err
}

func (w *meteredWriter) Close() error {
	if w.done {
		return w.Writer.Close()
	}
	w.done = true
	defer w.m.client.request(w.ctx)()
	w.m.client.tally.puts.Add(1)
	return w.Writer.Close()
}

// arrived is how many bytes of dst a read has brought.
func arrived(dst []byte, err error) int {
	if err == nil {
		return len(dst)
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Filled
	}
	return 0
}
