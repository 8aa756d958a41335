package blobio

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"

	"github.com/shardcat/shardcat/urlresolve"
)

// ReadRange fills dst with the bytes of an object from off on: exactly len(dst) bytes, or an error. One GET.
func (s *Client) ReadRange(ctx context.Context, url string, off int64, dst []byte) (Info, error) {
	release, err := s.hold(ctx, url, int64(len(dst)))
	if err != nil {
		return Info{}, err
	}
	defer release()
	return s.readRange(ctx, url, off, dst)
}

// hold takes the budget for reading n bytes.
func (s *Client) hold(ctx context.Context, url string, n int64) (release func(), err error) {
	if release, err = s.opts.memory.hold(ctx, n); err != nil {
		return nil, NewError("read", url, ErrCanceled, context.Cause(ctx))
	}
	return release, nil
}

// readRange is ReadRange for callers that hold the budget.
func (s *Client) readRange(ctx context.Context, url string, off int64, dst []byte) (Info, error) {
	m, key, err := s.find(ctx, url)
	if err != nil {
		return Info{}, err
	}
	ctx = s.pins.before(ctx, url)
	var info Info
	cache, err := s.cacheFor(ctx, url)
	switch {
	case err != nil:
	case cache != nil:
		info, err = readRangeShared(ctx, cache, m, cacheKey{url, off, int64(len(dst))}, key, dst)
	default:
		info, err = m.bucket.ReadRange(ctx, key, off, dst)
	}
	if err != nil {
		return info, wrap("read", url, err)
	}
	info.URL = url
	return info, s.pins.after(url, info)
}

func readRangeShared(ctx context.Context, cache *shared, m *mount, what cacheKey, key string, dst []byte) (Info, error) {
	v, err := cache.read(ctx, what, func(ctx context.Context) (cached, error) {
		data := make([]byte, len(dst))
		info, err := m.bucket.ReadRange(ctx, key, what.off, data)
		return cached{info, data}, err
	})
	if err == nil {
		copy(dst, v.data)
	}
	return v.info, err
}

// cacheFor is what a read goes through; nil if it goes straight to the bucket. The caches are opened when they
// are first needed.
func (s *Client) cacheFor(ctx context.Context, url string) (*shared, error) {
	s.openCache.Do(func() {
		var err error
		if s.cache, err = newShared(s, s.opts.cache); err != nil {
			s.cacheErr = NewError("open", "cache folder", ErrDenied, err)
		}
	})
	if s.cacheErr != nil || !s.cache.takes(ctx, url) {
		return nil, s.cacheErr
	}
	return s.cache, nil
}

// ReadSuffix returns the last min(n, size) bytes of an object. One GET.
func (s *Client) ReadSuffix(ctx context.Context, url string, n int64) ([]byte, Info, error) {
	m, key, err := s.find(ctx, url)
	if err != nil {
		return nil, Info{}, err
	}
	ctx = s.pins.before(ctx, url)
	get := func(ctx context.Context) (cached, error) {
		b, info, err := m.bucket.ReadSuffix(ctx, key, n)
		return cached{info, b}, err
	}
	cache, err := s.cacheFor(ctx, url)
	var v cached
	switch {
	case err != nil:
	case cache != nil:
		v, err = cache.read(ctx, cacheKey{url, suffixOf, n}, get)
		v.data = bytes.Clone(v.data)
	default:
		v, err = get(ctx)
	}
	if err != nil {
		return nil, v.info, wrap("read", url, err)
	}
	v.info.URL = url
	if err := s.pins.after(url, v.info); err != nil {
		return nil, v.info, err
	}
	return v.data, v.info, nil
}

// Open streams an object from off to its end. One GET, and one for each time the body breaks.
func (s *Client) Open(ctx context.Context, url string, off int64) (io.ReadCloser, Info, error) {
	m, key, err := s.find(ctx, url)
	if err != nil {
		return nil, Info{}, err
	}
	r, info, err := m.bucket.Open(s.pins.before(ctx, url), key, off)
	if err != nil {
		return nil, info, wrap("open", url, err)
	}
	info.URL = url
	if err := s.pins.after(url, info); err != nil {
		r.Close()
		return nil, info, err
	}
	return r, info, nil
}

// ReadAll reads a whole object of at most limit bytes; a larger one is ErrRange. One GET.
func (s *Client) ReadAll(ctx context.Context, url string, limit int64) ([]byte, Info, error) {
	r, info, err := s.Open(ctx, url, 0)
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

// Stat asks for an object without its content. One HEAD.
func (s *Client) Stat(ctx context.Context, url string) (Info, error) {
	m, key, err := s.find(ctx, url)
	if err != nil {
		return Info{}, err
	}
	info, err := m.bucket.Stat(ctx, key)
	if err != nil {
		return info, wrap("stat", url, err)
	}
	info.URL = url
	return info, s.pins.after(url, info)
}

// List yields the objects whose URL starts with urlPrefix, in key order as far as the store keeps one, with
// Info.URL set. It stops at the first error, which it yields.
func (s *Client) List(ctx context.Context, urlPrefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		m, prefix, err := s.find(ctx, urlPrefix)
		if err != nil {
			yield(Info{}, err)
			return
		}
		for info, err := range m.bucket.List(ctx, prefix) {
			info.URL = m.root + urlresolve.EscapeKey(info.Key)
			if !yield(info, wrap("list", urlPrefix, err)) || err != nil {
				return
			}
		}
	}
}
