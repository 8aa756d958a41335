package blobio

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/shardcat/shardcat/urlresolve"
)

// ReadRange fills dst with the bytes of an object from off on: exactly len(dst) bytes, or an error. One GET.
func (s *Space) ReadRange(ctx context.Context, url string, off int64, dst []byte) (Info, error) {
	m, key, err := s.find(ctx, url)
	if err != nil {
		return Info{}, err
	}
	info, err := m.bucket.ReadRange(ctx, key, off, dst)
	info.URL = url
	return info, wrap("read", url, err)
}

// ReadSuffix returns the last min(n, size) bytes of an object. One GET.
func (s *Space) ReadSuffix(ctx context.Context, url string, n int64) ([]byte, Info, error) {
	m, key, err := s.find(ctx, url)
	if err != nil {
		return nil, Info{}, err
	}
	b, info, err := m.bucket.ReadSuffix(ctx, key, n)
	info.URL = url
	return b, info, wrap("read", url, err)
}

// Open streams an object from off to its end. One GET, and one for each time the body breaks.
func (s *Space) Open(ctx context.Context, url string, off int64) (io.ReadCloser, Info, error) {
	m, key, err := s.find(ctx, url)
	if err != nil {
		return nil, Info{}, err
	}
	r, info, err := m.bucket.Open(ctx, key, off)
	info.URL = url
	return r, info, wrap("open", url, err)
}

// ReadAll reads a whole object of at most limit bytes; a larger one is ErrRange. One GET.
func (s *Space) ReadAll(ctx context.Context, url string, limit int64) ([]byte, Info, error) {
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
func (s *Space) Stat(ctx context.Context, url string) (Info, error) {
	m, key, err := s.find(ctx, url)
	if err != nil {
		return Info{}, err
	}
	info, err := m.bucket.Stat(ctx, key)
	info.URL = url
	return info, wrap("stat", url, err)
}

// List yields the objects whose URL starts with urlPrefix, in key order as far as the store keeps one, with
// Info.URL set. It stops at the first error, which it yields.
func (s *Space) List(ctx context.Context, urlPrefix string) iter.Seq2[Info, error] {
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
