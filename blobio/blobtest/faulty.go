package blobtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
)

// Faulty is a bucket in which requests go wrong by a Script. A Client takes it for a remote one, with retries
// and limits.
type Faulty struct {
	bucket blobio.Bucket

	mu     sync.Mutex
	script *Script
	counts map[string]int // by kind, and "any"
}

var _ blobio.Bucket = (*Faulty)(nil)

// NewFaulty wraps a bucket; a malformed script ends the test.
func NewFaulty(t testing.TB, bucket blobio.Bucket, script string) *Faulty {
	t.Helper()
	f := &Faulty{bucket: bucket, counts: map[string]int{}}
	f.Play(t, script)
	return f
}

// Play begins a new script and counts from 1 again.
func (f *Faulty) Play(t testing.TB, script string) {
	t.Helper()
	s, err := ParseScript(script)
	if err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.script = s
	clear(f.counts)
}

// Requests is how many requests of a kind ("any" for all) came since the script began.
func (f *Faulty) Requests(kind string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts[kind]
}

// next counts a request and gives its rule.
func (f *Faulty) next(kind, key string) *rule {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts[kind]++
	f.counts["any"]++
	return f.script.find(kind, key, f.counts[kind], f.counts["any"])
}

// refuse makes the error of a rule, nil if it says nothing of the kind.
func (r *rule) refuse(ctx context.Context, op, key string, verb string) error {
	if r == nil {
		return nil
	}
	if r.verb == "stall" && verb == "fail" {
		select {
		case <-ctx.Done():
			return blobio.NewError(op, key, blobio.ErrCanceled, context.Cause(ctx))
		case <-time.After(r.wait):
			return nil
		}
	}
	if r.verb == "hide" && verb == "fail" && op != "list" {
		return blobio.NewError(op, key, blobio.ErrNotFound, errors.New("hidden by a script"))
	}
	if r.verb != verb {
		return nil
	}
	return &blobio.Error{Op: op, URL: key, Class: r.class, RetryAfter: r.wait, Err: errors.New("by a script")}
}

// harm changes the body of an answer. It returns how many bytes of it arrive.
func (r *rule) harm(body []byte) (arrive int) {
	arrive = len(body)
	if r == nil || len(body) == 0 {
		return arrive
	}
	n := r.n
	if n < 0 {
		n += int64(len(body))
	}
	n = max(n, 0)
	switch {
	case r.verb == "flip" && n < int64(len(body)):
		body[n] ^= 1
	case r.verb == "cut" && n < int64(len(body)):
		arrive = int(n)
		clear(body[n:])
	}
	return arrive
}

func brokenBody(key string) error {
	return &blobio.Error{Op: "read", URL: key, Class: blobio.ErrTransient, Err: io.ErrUnexpectedEOF}
}

// ReadRange implements blobio.BucketReader.
func (f *Faulty) ReadRange(ctx context.Context, key string, off int64, dst []byte, opts blobio.ReadOptions) (int, blobio.Info, error) {
	r := f.next("get", key)
	if err := r.refuse(ctx, "read", key, "fail"); err != nil {
		return 0, blobio.Info{}, err
	}
	n, info, err := f.bucket.ReadRange(ctx, key, off, dst, opts)
	if err != nil {
		return n, info, err
	}
	if n = r.harm(dst); n < len(dst) {
		return n, info, brokenBody(key)
	}
	if err := r.refuse(ctx, "read", key, "lost"); err != nil {
		return 0, info, err
	}
	return n, info, nil
}

// ReadSuffix implements blobio.BucketReader.
func (f *Faulty) ReadSuffix(ctx context.Context, key string, n int64, opts blobio.ReadOptions) ([]byte, blobio.Info, error) {
	r := f.next("get", key)
	if err := r.refuse(ctx, "read", key, "fail"); err != nil {
		return nil, blobio.Info{}, err
	}
	b, info, err := f.bucket.ReadSuffix(ctx, key, n, opts)
	if err != nil {
		return nil, info, err
	}
	if r.harm(b) < len(b) {
		return nil, info, brokenBody(key)
	}
	return b, info, r.refuse(ctx, "read", key, "lost")
}

// Open implements blobio.BucketReader. A body that is cut or flipped is read to its end before.
func (f *Faulty) Open(ctx context.Context, key string, off int64, opts blobio.ReadOptions) (io.ReadCloser, blobio.Info, error) {
	r := f.next("get", key)
	if err := r.refuse(ctx, "open", key, "fail"); err != nil {
		return nil, blobio.Info{}, err
	}
	body, info, err := f.bucket.Open(ctx, key, off, opts)
	if err != nil || r == nil || r.verb != "cut" && r.verb != "flip" {
		return body, info, err
	}
	defer body.Close()
	all, err := io.ReadAll(body)
	if err != nil {
		return nil, info, err
	}
	n := r.harm(all)
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
	r := f.next("stat", key)
	if err := r.refuse(ctx, "stat", key, "fail"); err != nil {
		return blobio.Info{}, err
	}
	info, err := f.bucket.Stat(ctx, key, opts)
	return info, errors.Join(err, r.refuse(ctx, "stat", key, "lost"))
}

// List implements blobio.BucketReader.
func (f *Faulty) List(ctx context.Context, prefix string, opts blobio.ListOptions) iter.Seq2[blobio.Info, error] {
	return func(yield func(blobio.Info, error) bool) {
		r := f.next("list", prefix)
		if err := r.refuse(ctx, "list", prefix, "fail"); err != nil {
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
		if len(held) > 0 && (r == nil || r.verb != "hide") && !yield(held[0], nil) {
			return
		}
		if err := r.refuse(ctx, "list", prefix, "lost"); err != nil {
			yield(blobio.Info{}, err)
		}
	}
}

// Create implements blobio.Bucket. The request is made by Close of the writer.
func (f *Faulty) Create(ctx context.Context, key string, opts blobio.CreateOptions) (blobio.Writer, error) {
	w, err := f.bucket.Create(ctx, key, opts)
	if errors.Is(err, blobio.ErrExists) { // a driver that looks early; the request counts all the same
		if err := f.next("put", key).refuse(ctx, "create", key, "fail"); err != nil {
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
	r := w.f.next("put", w.key)
	if err := r.refuse(w.ctx, "create", w.key, "fail"); err != nil {
		w.Abort()
		return err
	}
	err := w.Writer.Close()
	if r != nil && r.verb == "twice" {
		err = write(w.ctx, w.f.bucket, w.key, w.data)
	}
	if lost := r.refuse(w.ctx, "create", w.key, "lost"); lost != nil {
		return lost
	}
	return err
}

// Delete implements blobio.Bucket.
func (f *Faulty) Delete(ctx context.Context, key string, opts blobio.DeleteOptions) error {
	r := f.next("delete", key)
	if err := r.refuse(ctx, "delete", key, "fail"); err != nil {
		return err
	}
	err := f.bucket.Delete(ctx, key, opts)
	if r != nil && r.verb == "twice" {
		err = f.bucket.Delete(ctx, key, opts)
	}
	if lost := r.refuse(ctx, "delete", key, "lost"); lost != nil {
		return lost
	}
	return err
}

// Close implements blobio.Bucket.
func (f *Faulty) Close() error { return f.bucket.Close() }

// Walk proves that a piece of work survives a fault at each of its requests. For n = 1, 2, … it makes a bucket
// by fresh, plays the script for n and calls work, until a run has made fewer than n requests. It returns how many runs had their fault. work asserts what must hold after a fault; it is told n.
func Walk(t *testing.T, script func(n int) string, fresh func(t *testing.T) blobio.Bucket, work func(t *testing.T, n int, bucket *Faulty)) int {
	t.Helper()
	const most = 10_000 // a work that never ends its walk makes more requests each time
	for n := 1; n <= most; n++ {
		bucket := NewFaulty(t, fresh(t), script(n))
		work(t, n, bucket)
		if t.Failed() {
			t.Fatalf("with the script %q", script(n))
		}
		if bucket.Requests("any") < n {
			return n - 1
		}
	}
	t.Fatalf("still not through after %d runs", most)
	return most
}
