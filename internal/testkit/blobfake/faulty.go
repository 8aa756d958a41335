package blobfake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/blobtest"
	"github.com/shardcat/shardcat/internal/testkit/fault"
)

// Faulty is a bucket in which requests go wrong by a script in the language of internal/testkit/fault. A Client takes it for a
// remote one, with retries and limits. A PUT is made by Close of a writer. What it can't play are slow bodies, stale
// lists and calls.
type Faulty struct {
	bucket blobio.Bucket
	play   fault.Play
}

var _ blobio.Bucket = (*Faulty)(nil)

// NewFaulty wraps a bucket; a malformed script ends the test.
func NewFaulty(t testing.TB, bucket blobio.Bucket, script string) *Faulty {
	t.Helper()
	f := &Faulty{bucket: bucket, play: fault.Play{Cannot: []string{"slow", "stale", "call"}}}
	f.Play(t, script)
	return f
}

// Play begins a new script and counts from 1 again.
func (f *Faulty) Play(t testing.TB, script string) {
	t.Helper()
	if err := f.play.Set(script); err != nil {
		t.Fatal(err)
	}
}

// Requests is how many requests of a kind ("any" for all) came since the script began.
func (f *Faulty) Requests(kind string) int { return f.play.Requests(kind) }

// before is what becomes of a request before the store hears of it: nil if it goes on.
func before(ctx context.Context, r *fault.Rule, op, key string) error {
	switch {
	case r.What == "stall":
		select {
		case <-ctx.Done():
			return blobio.NewError(op, key, blobio.ErrCanceled, context.Cause(ctx))
		case <-time.After(r.Wait):
		}
	case r.What == "hide" && op != "list":
		return blobio.NewError(op, key, blobio.ErrNotFound, errors.New("hidden by a script"))
	case r.What == "fail":
		return refusal(r, op, key, r.Class)
	case r.What == "drop":
		return refusal(r, op, key, blobio.ErrTransient)
	}
	return nil
}

// after is what becomes of the answer: nil if it comes.
func after(r *fault.Rule, op, key string) error {
	switch {
	case r.What != "lost":
		return nil
	case r.Class == nil:
		return refusal(r, op, key, blobio.ErrTransient)
	}
	return refusal(r, op, key, r.Class)
}

func refusal(r *fault.Rule, op, key string, class error) error {
	return &blobio.Error{Op: op, URL: key, Class: class, RetryAfter: r.Wait, Err: errors.New("by a script")}
}

// harm changes the body of an answer. It returns how many bytes of it arrive.
func harm(r *fault.Rule, body []byte) (arrive int) {
	arrive = len(body)
	switch at := r.At(len(body)); {
	case at == len(body):
	case r.What == "flip":
		body[at] ^= 1
	case r.What == "cut":
		arrive = at
		clear(body[at:])
	}
	return arrive
}

// damage is what a store that damages a PUT stores of it, nil if it does not.
func damage(r *fault.Rule, body []byte) []byte {
	switch {
	case len(body) == 0:
		return nil
	case r.What == "garble":
		damaged := bytes.Clone(body)
		damaged[len(body)/2] ^= 1
		return damaged
	case r.What == "truncate":
		return body[: len(body)/2 : len(body)/2]
	}
	return nil
}

func brokenBody(key string) error {
	return &blobio.Error{Op: "read", URL: key, Class: blobio.ErrTransient, Err: io.ErrUnexpectedEOF}
}

// ReadRange implements blobio.BucketReader.
func (f *Faulty) ReadRange(ctx context.Context, key string, off int64, dst []byte, opts blobio.ReadOptions) (int, blobio.Info, error) {
	r := f.play.Next("get", key)
	if err := before(ctx, r, "read", key); err != nil {
		return 0, blobio.Info{}, err
	}
	n, info, err := f.bucket.ReadRange(ctx, key, off, dst, opts)
	if err != nil {
		return n, info, err
	}
	if n = harm(r, dst); n < len(dst) {
		return n, info, brokenBody(key)
	}
	if err := after(r, "read", key); err != nil {
		return 0, info, err
	}
	return n, info, nil
}

// ReadSuffix implements blobio.BucketReader.
func (f *Faulty) ReadSuffix(ctx context.Context, key string, n int64, opts blobio.ReadOptions) ([]byte, blobio.Info, error) {
	r := f.play.Next("get", key)
	if err := before(ctx, r, "read", key); err != nil {
		return nil, blobio.Info{}, err
	}
	b, info, err := f.bucket.ReadSuffix(ctx, key, n, opts)
	if err != nil {
		return nil, info, err
	}
	if harm(r, b) < len(b) {
		return nil, info, brokenBody(key)
	}
	return b, info, after(r, "read", key)
}

// Open implements blobio.BucketReader. A body that is cut or flipped is read to its end before.
func (f *Faulty) Open(ctx context.Context, key string, off int64, opts blobio.ReadOptions) (io.ReadCloser, blobio.Info, error) {
	r := f.play.Next("get", key)
	if err := before(ctx, r, "open", key); err != nil {
		return nil, blobio.Info{}, err
	}
	body, info, err := f.bucket.Open(ctx, key, off, opts)
	if err != nil || r.What != "cut" && r.What != "flip" {
		return body, info, err
	}
	defer body.Close()
	all, err := io.ReadAll(body)
	if err != nil {
		return nil, info, err
	}
	n := harm(r, all)
	var end io.Reader = bytes.NewReader(nil)
	if n < len(all) {
		end = errReader{brokenBody(key)}
	}
	return io.NopCloser(io.MultiReader(bytes.NewReader(all[:n]), end)), info, nil
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// Stat implements blobio.BucketReader.
func (f *Faulty) Stat(ctx context.Context, key string, opts blobio.ReadOptions) (blobio.Info, error) {
	r := f.play.Next("stat", key)
	if err := before(ctx, r, "stat", key); err != nil {
		return blobio.Info{}, err
	}
	info, err := f.bucket.Stat(ctx, key, opts)
	return info, errors.Join(err, after(r, "stat", key))
}

// List implements blobio.BucketReader.
func (f *Faulty) List(ctx context.Context, prefix string, opts blobio.ListOptions) iter.Seq2[blobio.Info, error] {
	return func(yield func(blobio.Info, error) bool) {
		r := f.play.Next("list", prefix)
		if err := before(ctx, r, "list", prefix); err != nil {
			yield(blobio.Info{}, err)
			return
		}
		var held []blobio.Info // the last one, until the next comes
		for info, err := range f.bucket.List(ctx, prefix, opts) {
			if err != nil {
				yield(info, err)
				return
			}
			if len(held) > 0 && !yield(held[0], nil) {
				return
			}
			held = append(held[:0], info)
		}
		if len(held) > 0 && r.What != "hide" && !yield(held[0], nil) {
			return
		}
		if err := after(r, "list", prefix); err != nil {
			yield(blobio.Info{}, err)
		}
	}
}

// Create implements blobio.Bucket. The request is made by Close of the writer.
func (f *Faulty) Create(ctx context.Context, key string, opts blobio.CreateOptions) (blobio.Writer, error) {
	w, err := f.bucket.Create(ctx, key, opts)
	if errors.Is(err, blobio.ErrExists) { // a driver that looks early; the request counts all the same
		if err := before(ctx, f.play.Next("put", key), "create", key); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	return &faultyWriter{Writer: w, f: f, ctx: ctx, key: key, opts: opts}, nil
}

type faultyWriter struct {
	blobio.Writer
	f    *Faulty
	ctx  context.Context
	key  string
	opts blobio.CreateOptions
	data []byte
	done bool
}

func (w *faultyWriter) Write(p []byte) (int, error) {
	w.data = append(w.data, p...)
	return w.Writer.Write(p)
}

func (w *faultyWriter) Close() error {
	if w.done {
		return w.Writer.Close()
	}
	w.done = true
	r := w.f.play.Next("put", w.key)
	if err := before(w.ctx, r, "create", w.key); err != nil {
		w.Abort()
		return err
	}
	if damaged := damage(r, w.data); damaged != nil {
		w.Abort()
		return blobtest.Put(w.ctx, w.f.bucket, w.key, damaged)
	}
	err := w.Writer.Close()
	if r.What == "twice" {
		err = blobtest.Put(w.ctx, w.f.bucket, w.key, w.data)
	}
	if lost := after(r, "create", w.key); lost != nil {
		return lost
	}
	return err
}

// Delete implements blobio.Bucket.
func (f *Faulty) Delete(ctx context.Context, key string, opts blobio.DeleteOptions) error {
	r := f.play.Next("delete", key)
	if err := before(ctx, r, "delete", key); err != nil {
		return err
	}
	err := f.bucket.Delete(ctx, key, opts)
	if r.What == "twice" {
		err = f.bucket.Delete(ctx, key, opts)
	}
	if lost := after(r, "delete", key); lost != nil {
		return lost
	}
	return err
}

// Close implements blobio.Bucket.
func (f *Faulty) Close() error { return f.bucket.Close() }

// Walk proves that a piece of work survives a fault at each of its requests. For n = 1, 2, … it makes a bucket
// by fresh, plays the script for n and calls work, until a run has made fewer than n requests. It returns how many runs had their fault. work asserts what must hold after a fault; it receives n.
func Walk(t *testing.T, script func(n int) string, fresh func(t *testing.T) blobio.Bucket, work func(t *testing.T, n int, bucket *Faulty)) int {
	t.Helper()
	broken, err := fault.Walk(func(n int) (int, error) {
		bucket := NewFaulty(t, fresh(t), script(n))
		work(t, n, bucket)
		if t.Failed() {
			return 0, fmt.Errorf("with the script %q", script(n))
		}
		return bucket.Requests("any"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return broken
}
