// Package memblob keeps objects in the memory of the process. Importing it enables mem://NAME/KEY in blobio:
// all who open the same name, through any Client, see the same objects, until the process ends.
package memblob

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardcat/shardcat/blobio"
)

func init() {
	blobio.Register("mem", func(_ context.Context, u *url.URL) (blobio.Bucket, error) {
		return Open(u.Host), nil
	})
}

// store is the objects of one name.
type store struct {
	sync.RWMutex
	objects map[string]object
	written int // objects ever, for ETags
	// sorted and recent hold every key of objects and of gone once, sorted its part in order.
	sorted, recent []string
	gone           map[string]bool // keys whose objects were deleted
}

type object struct {
	data []byte // never changed
	info blobio.Info
}

func newStore() *store { return &store{objects: map[string]object{}, gone: map[string]bool{}} }

var stores = struct {
	sync.Mutex
	byName map[string]*store
}{byName: map[string]*store{}}

// Bucket is a view of the objects of one name. Closing it closes the view alone.
type Bucket struct {
	*store
	name   string
	closed atomic.Bool
}

var _ interface {
	blobio.Bucket
	blobio.Lender
} = (*Bucket)(nil)

// Open opens the bucket mem://name/.
func Open(name string) *Bucket {
	stores.Lock()
	defer stores.Unlock()
	s := stores.byName[name]
	if s == nil {
		s = newStore()
		stores.byName[name] = s
	}
	return &Bucket{store: s, name: name}
}

// New opens a bucket that no URL names, for tests.
func New() *Bucket { return &Bucket{store: newStore()} }

// Local informs blobio that there is nothing to retry or to limit.
func (b *Bucket) Local() bool { return true }

func (b *Bucket) fail(op, key string, class, cause error) error {
	return blobio.NewError(op, "mem://"+b.name+"/"+key, class, cause)
}

// get finds an object for a read.
func (b *Bucket) get(ctx context.Context, op, key, ifMatch string) (object, error) {
	if err := b.ready(ctx, op, key); err != nil {
		return object{}, err
	}
	b.RLock()
	o, ok := b.objects[key]
	b.RUnlock()
	switch {
	case !ok:
		return object{}, b.fail(op, key, blobio.ErrNotFound, nil)
	case ifMatch != "" && ifMatch != o.info.ETag:
		return object{}, b.fail(op, key, blobio.ErrChanged, nil)
	}
	return o, nil
}

func (b *Bucket) ready(ctx context.Context, op, key string) error {
	if b.closed.Load() {
		return b.fail(op, key, blobio.ErrClosed, nil)
	}
	if err := ctx.Err(); err != nil {
		return b.fail(op, key, blobio.ErrCanceled, context.Cause(ctx))
	}
	return nil
}

// ReadRange implements blobio.Bucket.
func (b *Bucket) ReadRange(ctx context.Context, key string, off int64, dst []byte, opts blobio.ReadOptions) (int, blobio.Info, error) {
	o, err := b.get(ctx, "read", key, opts.IfMatch)
	if err != nil {
		return 0, blobio.Info{}, err
	}
	if off < 0 || off > int64(len(o.data)) || int64(len(o.data))-off < int64(len(dst)) {
		return 0, blobio.Info{}, b.fail("read", key, blobio.ErrRange, nil)
	}
	return copy(dst, o.data[off:]), o.info, nil
}

// Lend implements blobio.Lender.
func (b *Bucket) Lend(ctx context.Context, key string, off, n int64, opts blobio.ReadOptions) ([]byte, blobio.Info, error) {
	o, err := b.get(ctx, "read", key, opts.IfMatch)
	if err != nil {
		return nil, blobio.Info{}, err
	}
	if off < 0 || n < 0 || off > int64(len(o.data)) || int64(len(o.data))-off < n {
		return nil, blobio.Info{}, b.fail("read", key, blobio.ErrRange, nil)
	}
	return o.data[off : off+n : len(o.data)], o.info, nil
}

// ReadSuffix implements blobio.Bucket.
func (b *Bucket) ReadSuffix(ctx context.Context, key string, n int64, opts blobio.ReadOptions) ([]byte, blobio.Info, error) {
	o, err := b.get(ctx, "read", key, opts.IfMatch)
	if err != nil {
		return nil, blobio.Info{}, err
	}
	n = min(max(n, 0), int64(len(o.data)))
	return bytes.Clone(o.data[int64(len(o.data))-n:]), o.info, nil
}

// Open implements blobio.Bucket.
func (b *Bucket) Open(ctx context.Context, key string, off int64, opts blobio.ReadOptions) (io.ReadCloser, blobio.Info, error) {
	o, err := b.get(ctx, "open", key, opts.IfMatch)
	if err != nil {
		return nil, blobio.Info{}, err
	}
	if off < 0 || off > int64(len(o.data)) {
		return nil, blobio.Info{}, b.fail("open", key, blobio.ErrRange, nil)
	}
	return &reader{ctx: ctx, b: b, key: key, r: bytes.NewReader(o.data[off:])}, o.info, nil
}

// reader ends with its context, as a body from the network does.
type reader struct {
	ctx context.Context
	b   *Bucket
	key string
	r   *bytes.Reader // nil once closed
}

func (r *reader) Read(p []byte) (int, error) {
	if r.r == nil {
		return 0, r.b.fail("read", r.key, blobio.ErrClosed, nil)
	}
	if err := r.b.ready(r.ctx, "read", r.key); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

func (r *reader) Close() error {
	r.r = nil
	return nil
}

// Stat implements blobio.Bucket.
func (b *Bucket) Stat(ctx context.Context, key string, opts blobio.ReadOptions) (blobio.Info, error) {
	o, err := b.get(ctx, "stat", key, opts.IfMatch)
	return o.info, err
}

// List implements blobio.Bucket. It yields what was there when it was called.
func (b *Bucket) List(ctx context.Context, prefix string, _ blobio.ListOptions) iter.Seq2[blobio.Info, error] {
	return func(yield func(blobio.Info, error) bool) {
		for _, info := range b.listed(prefix) {
			if err := b.ready(ctx, "list", prefix); err != nil {
				yield(blobio.Info{}, err)
				return
			}
			if !yield(info, nil) {
				return
			}
		}
		if err := b.ready(ctx, "list", prefix); err != nil {
			yield(blobio.Info{}, err)
		}
	}
}

func (b *Bucket) listed(prefix string) []blobio.Info {
	b.tidy()
	b.RLock()
	defer b.RUnlock()
	first, _ := slices.BinarySearch(b.sorted, prefix)
	var infos []blobio.Info
	for _, key := range b.sorted[first:] {
		if !strings.HasPrefix(key, prefix) {
			break
		}
		if o, ok := b.objects[key]; ok {
			infos = append(infos, o.info)
		}
	}
	inOrder := len(infos)
	for _, key := range b.recent {
		if strings.HasPrefix(key, prefix) {
			if o, ok := b.objects[key]; ok {
				infos = append(infos, o.info)
			}
		}
	}
	if len(infos) > inOrder {
		slices.SortFunc(infos, func(x, y blobio.Info) int { return strings.Compare(x.Key, y.Key) })
	}
	return infos
}

// tidy brings recent keys in order once they are many, so that a listing costs what it lists and not what there is.
func (b *Bucket) tidy() {
	b.Lock()
	defer b.Unlock()
	if len(b.recent)+len(b.gone) <= 64+len(b.sorted)/64 {
		return
	}
	slices.Sort(b.recent)
	all, recent := make([]string, 0, len(b.objects)), b.recent
	for _, key := range b.sorted {
		for len(recent) > 0 && recent[0] < key {
			all, recent = append(all, recent[0]), recent[1:]
		}
		all = append(all, key)
	}
	all = append(all, recent...)
	b.sorted, b.recent = slices.DeleteFunc(all, func(key string) bool { return b.gone[key] }), b.recent[:0]
	clear(b.gone)
}

// Create implements blobio.Bucket.
func (b *Bucket) Create(ctx context.Context, key string, _ blobio.CreateOptions) (blobio.Writer, error) {
	if err := b.ready(ctx, "create", key); err != nil {
		return nil, err
	}
	if key == "" {
		return nil, b.fail("create", key, blobio.ErrDenied, errors.New("empty key"))
	}
	return &writer{ctx: ctx, b: b, key: key}, nil
}

type writer struct {
	ctx  context.Context
	b    *Bucket
	key  string
	data []byte
	done bool
}

func (w *writer) Write(p []byte) (int, error) {
	if w.done {
		return 0, w.b.fail("create", w.key, blobio.ErrClosed, nil)
	}
	if err := w.b.ready(w.ctx, "create", w.key); err != nil {
		return 0, err
	}
	w.data = append(w.data, p...)
	return len(p), nil
}

// CopyAfter implements blobio.RangeCopier.
func (w *writer) CopyAfter() int64 { return 0 }

// CopyRange implements blobio.RangeCopier.
func (w *writer) CopyRange(key string, off, size int64, etag string) error {
	if w.done {
		return w.b.fail("create", w.key, blobio.ErrClosed, nil)
	}
	o, err := w.b.get(w.ctx, "copy", key, etag)
	if err != nil {
		return err
	}
	if off < 0 || size < 0 || off > int64(len(o.data))-size {
		return w.b.fail("copy", key, blobio.ErrRange, nil)
	}
	w.data = append(w.data, o.data[off:off+size]...)
	return nil
}

func (w *writer) Close() error {
	if w.done {
		return w.b.fail("create", w.key, blobio.ErrClosed, nil)
	}
	w.done = true
	if err := w.b.ready(w.ctx, "create", w.key); err != nil {
		return err
	}
	w.b.Lock()
	defer w.b.Unlock()
	if _, taken := w.b.objects[w.key]; taken {
		return w.b.fail("create", w.key, blobio.ErrExists, nil)
	}
	w.b.put(w.key, w.data)
	return nil
}

func (w *writer) Abort() { w.done, w.data = true, nil }

// put is called with the lock held.
func (s *store) put(key string, data []byte) {
	s.written++
	if _, known := s.objects[key]; !known {
		if s.gone[key] {
			delete(s.gone, key)
		} else {
			s.recent = append(s.recent, key)
		}
	}
	s.objects[key] = object{data: data, info: blobio.Info{
		Key: key, Size: int64(len(data)), ETag: strconv.Itoa(s.written), ModTime: time.Now()}}
}

// Replace sets an object whether it is there or not, for tests of readers whose object is replaced under them.
func (b *Bucket) Replace(key string, data []byte) {
	b.Lock()
	defer b.Unlock()
	b.put(key, bytes.Clone(data))
}

// Delete implements blobio.Bucket.
func (b *Bucket) Delete(ctx context.Context, key string, opts blobio.DeleteOptions) error {
	if err := b.ready(ctx, "delete", key); err != nil {
		return err
	}
	b.Lock()
	defer b.Unlock()
	o, ok := b.objects[key]
	switch {
	case !ok:
		return b.fail("delete", key, blobio.ErrNotFound, nil)
	case opts.IfMatch != "" && opts.IfMatch != o.info.ETag:
		return b.fail("delete", key, blobio.ErrChanged, nil)
	}
	delete(b.objects, key)
	b.gone[key] = true
	return nil
}

// Close implements blobio.Bucket.
func (b *Bucket) Close() error {
	b.closed.Store(true)
	return nil
}
