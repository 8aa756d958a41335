package blobio

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"

	"github.com/shardcat/shardcat/internal/nocache"
	"github.com/shardcat/shardcat/urlresolve"
)

// ReadRange fills dst with the bytes of an object from off on: exactly len(dst) bytes, or an error. One GET.
func (c *Client) ReadRange(ctx context.Context, url string, off int64, dst []byte) (Info, error) {
	held, err := c.hold(ctx, url, int64(len(dst)))
	if err != nil {
		return Info{}, err
	}
	defer c.opts.memory.Release(held)
	return c.readRange(ctx, url, off, dst)
}

// hold takes the budget for reading n bytes, and reports how much of it is to be released.
func (c *Client) hold(ctx context.Context, url string, n int64) (held int64, err error) {
	if held, err = c.opts.memory.hold(ctx, n); err != nil {
		return 0, NewError("read", url, ErrCanceled, context.Cause(ctx))
	}
	return held, nil
}

// readRange is ReadRange for callers that hold the budget.
func (c *Client) readRange(ctx context.Context, url string, off int64, dst []byte) (Info, error) {
	m, key, err := c.find(ctx, url)
	if err != nil {
		return Info{}, err
	}
	opts := c.readOptions(url)
	var info Info
	cache, err := c.cacheFor(ctx, url)
	switch {
	case err != nil:
	case cache != nil:
		n := int64(len(dst))
		var v cached
		v, err = cache.read(ctx, &c.tally, cacheKey{url, off, n}, opts, m.reader(key, off, n, opts))
		if info = v.info; err == nil {
			copy(dst, v.data)
		}
	default:
		if c.open.join() {
			defer c.open.drop()
			opts.Open = c.open
		}
		_, info, err = m.bucket.ReadRange(ctx, key, off, dst, opts)
	}
	if err != nil {
		return info, wrap("read", url, err)
	}
	info.URL = url
	return info, c.pins.after(url, info)
}

// reader reads a range of an object for a cache.
func (m *mount) reader(key string, off, n int64, opts ReadOptions) func(context.Context) (cached, error) {
	return func(ctx context.Context) (cached, error) {
		data := make([]byte, n)
		_, info, err := m.bucket.ReadRange(ctx, key, off, data, opts)
		return cached{info, data}, err
	}
}

// cacheFor is what a read goes through; nil if it goes straight to the bucket. The caches are opened when they
// are first needed.
func (c *Client) cacheFor(ctx context.Context, url string) (*shared, error) {
	cache, err := c.caches()
	if err != nil || c.uncached || nocache.Is(ctx) || !cache.takes(url) {
		return nil, err
	}
	return cache, nil
}

// Forget removes all cached ranges of objects, for readers that found one damaged. It reports whether reads with
// ctx of any of the objects go through a cache: if so, the store may have intact bytes.
func (c *Client) Forget(ctx context.Context, urls ...string) (cached bool) {
	for _, url := range urls {
		if cache, _ := c.cacheFor(ctx, url); cache != nil { // its error is that of the next read
			cache.drop(url)
			cached = true
		}
	}
	return cached
}

// caches opens the caches, or finds those of the Client that shares its own.
func (c *Client) caches() (*shared, error) {
	if of := c.opts.CacheOf; of != nil {
		return of.caches()
	}
	c.openCache.Do(func() {
		var err error
		if c.cache, err = newShared(c.opts.Cache); err != nil {
			c.cacheErr = NewError("open", "cache folder", ErrDenied, err)
		}
	})
	return c.cache, c.cacheErr
}

// ReadSuffix returns the last min(n, size) bytes of an object. One GET.
func (c *Client) ReadSuffix(ctx context.Context, url string, n int64) ([]byte, Info, error) {
	m, key, err := c.find(ctx, url)
	if err != nil {
		return nil, Info{}, err
	}
	opts := c.readOptions(url)
	get := func(ctx context.Context) (cached, error) {
		b, info, err := m.bucket.ReadSuffix(ctx, key, n, opts)
		return cached{info, b}, err
	}
	cache, err := c.cacheFor(ctx, url)
	var v cached
	switch {
	case err != nil:
	case cache != nil:
		v, err = cache.read(ctx, &c.tally, cacheKey{url, suffixOf, n}, opts, get)
		v.data = bytes.Clone(v.data)
	default:
		v, err = get(ctx)
	}
	if err != nil {
		return nil, v.info, wrap("read", url, err)
	}
	v.info.URL = url
	if err := c.pins.after(url, v.info); err != nil {
		return nil, v.info, err
	}
	return v.data, v.info, nil
}

// Open streams an object from off to its end. One GET, and one for each time the body breaks.
func (c *Client) Open(ctx context.Context, url string, off int64) (io.ReadCloser, Info, error) {
	m, key, err := c.find(ctx, url)
	if err != nil {
		return nil, Info{}, err
	}
	r, info, err := m.bucket.Open(ctx, key, off, c.readOptions(url))
	if err != nil {
		return nil, info, wrap("open", url, err)
	}
	info.URL = url
	if err := c.pins.after(url, info); err != nil {
		r.Close()
		return nil, info, err
	}
	return r, info, nil
}

// ReadAll reads a whole object of at most limit bytes; a larger one is ErrRange. One GET.
func (c *Client) ReadAll(ctx context.Context, url string, limit int64) ([]byte, Info, error) {
	cache, err := c.cacheFor(ctx, url)
	if err != nil {
		return nil, Info{}, wrap("read", url, err)
	}
	if cache == nil {
		return c.readAll(ctx, url, limit)
	}
	v, err := cache.read(ctx, &c.tally, cacheKey{url, wholeOf, limit}, c.readOptions(url), func(ctx context.Context) (cached, error) {
		b, info, err := c.readAll(ctx, url, limit)
		return cached{info, b}, err
	})
	if err != nil {
		return nil, v.info, wrap("read", url, err)
	}
	v.info.URL = url
	if err := c.pins.after(url, v.info); err != nil {
		return nil, v.info, err
	}
	return bytes.Clone(v.data), v.info, nil
}

// readAll is ReadAll from the store.
func (c *Client) readAll(ctx context.Context, url string, limit int64) ([]byte, Info, error) {
	r, info, err := c.Open(ctx, url, 0)
	if err != nil {
		return nil, info, err
	}
	defer r.Close()
	if info.Size > limit {
		return nil, info, NewError("read", url, ErrRange, errors.New("larger than the reader's limit"))
	}
	b := make([]byte, info.Size)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, info, wrap("read", url, err)
	}
	return b, info, nil
}

// Stat requests an object without its content. One HEAD.
func (c *Client) Stat(ctx context.Context, url string) (Info, error) {
	m, key, err := c.find(ctx, url)
	if err != nil {
		return Info{}, err
	}
	info, err := m.bucket.Stat(ctx, key, ReadOptions{IfMatch: c.ifMatch, Trace: c.trace()})
	if err != nil {
		return info, wrap("stat", url, err)
	}
	info.URL = url
	return info, c.pins.after(url, info)
}

// List yields the objects whose URL starts with urlPrefix, in key order as far as the store keeps one, with
// Info.URL set. It stops at the first error, which it yields.
func (c *Client) List(ctx context.Context, urlPrefix string) iter.Seq2[Info, error] {
	return c.ListPages(ctx, urlPrefix, 0)
}

// ListPages is List with at most so many keys a page; 0 leaves the number to the driver.
func (c *Client) ListPages(ctx context.Context, urlPrefix string, page int) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		m, prefix, err := c.find(ctx, urlPrefix)
		if err != nil {
			yield(Info{}, err)
			return
		}
		for info, err := range m.bucket.List(ctx, prefix, ListOptions{Page: page, Retry: c.opts.Retry.ofPage(), Trace: c.trace()}) {
			info.URL = m.root + urlresolve.EscapeKey(info.Key)
			if !yield(info, wrap("list", urlPrefix, err)) || err != nil {
				return
			}
		}
	}
}
