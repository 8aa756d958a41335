package blobio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/shardcat/shardcat/urlresolve"
)

// Scope serves the objects of some folders by credentials that were handed out for them.
type Scope struct {
	// Folders are canonical URLs in one bucket, with or without a trailing slash.
	Folders []string
	// Options of the bucket, as the query of its URL has them.
	Options url.Values
	// Credentials are requested before each request.
	Credentials Credentials
	// Renew is called when the store refused the credentials. It reports whether there are others now; reads, lists and
	// deletes are then tried again, once.
	Renew func(context.Context) bool
	// Fallback: the credentials of the environment are used as long as the store accepts them.
	Fallback bool
}

// AddScope opens folders by credentials of their own; all other keys of the bucket stay with those of the environment.
// Folders that have a scope keep it. No request is made.
func (c *Client) AddScope(ctx context.Context, s Scope) error {
	part := &scope{Scope: s, client: c}
	var root string
	for _, folder := range s.Folders {
		at, err := urlresolve.Parse(strings.TrimSuffix(folder, "/") + "/")
		switch {
		case err != nil:
			return err
		case root != "" && root != at.Root():
			return fmt.Errorf("folders in two buckets: %s and %s", root, at.Root())
		}
		root = at.Root()
		part.prefixes = append(part.prefixes, strings.TrimSuffix(at.Key(), "/"))
	}
	if root == "" {
		return nil
	}
	part.root = root
	c.mu.RLock()
	m := c.mounts[root]
	c.mu.RUnlock()
	if m == nil {
		if _, err := c.Mount(ctx, part.url()); err != nil {
			// The environment has nothing to open the bucket with: the credentials available are the only ones.
			if _, ownErr := c.Mount(withCredentials(ctx, s.Credentials), part.url()); ownErr != nil {
				return errors.Join(ownErr, err)
			}
		}
		c.mu.RLock()
		m = c.mounts[root]
		c.mu.RUnlock()
	}
	if m == nil || m.scopes == nil {
		return nil // closed, or local: there are no credentials
	}
	m.scopes.add(part)
	return nil
}

func (p *scope) url() string {
	if len(p.Options) == 0 {
		return p.root
	}
	return p.root + "?" + p.Options.Encode()
}

// scope is a Scope with its bucket, which is opened when it is first used.
type scope struct {
	Scope
	client   *Client
	root     string
	prefixes []string
	// needed marks a Fallback: the store refused the environment's credentials and took these.
	needed atomic.Bool

	once   sync.Once
	bucket Bucket
	err    error
}

func (p *scope) open(ctx context.Context) (Bucket, error) {
	p.once.Do(func() {
		u, err := parseMount(p.url())
		if err != nil {
			p.err = err
			return
		}
		open, err := driver(u.Scheme)
		if err != nil {
			p.err = cannotOpen(p.root, err)
			return
		}
		p.bucket, p.err = open(withCredentials(context.WithoutCancel(ctx), p.Credentials), u)
		if told := (*Error)(nil); p.err != nil && !errors.As(p.err, &told) {
			p.err = cannotOpen(p.root+p.prefixes[0]+"/", p.err)
		}
	})
	return p.bucket, p.err
}

// scoped is a bucket parts of which are opened by other credentials.
type scoped struct {
	Bucket
	mu     sync.RWMutex
	scopes map[string]*scope // by folder, without its trailing slash
	all    []*scope
}

func (s *scoped) add(p *scope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scopes == nil {
		s.scopes = map[string]*scope{}
	}
	added := false
	for _, prefix := range p.prefixes {
		if s.scopes[prefix] == nil {
			s.scopes[prefix], added = p, true
		}
	}
	if added {
		s.all = append(s.all, p)
	}
}

// of is the scope of a key or prefix of keys: that of the innermost folder, nil if it lies in none.
func (s *scoped) of(key string) *scope {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.scopes) == 0 {
		return nil
	}
	for folder := key; ; {
		slash := strings.LastIndexByte(folder, '/')
		if slash < 0 {
			return s.scopes[""]
		}
		folder = folder[:slash]
		if p := s.scopes[folder]; p != nil {
			return p
		}
	}
}

// do makes a request on the bucket that a key belongs to, and once more where the store refuses its credentials.
func (s *scoped) do(ctx context.Context, key string, request func(Bucket) error) error {
	p := s.of(key)
	if p == nil {
		return request(s.Bucket)
	}
	var first error
	if p.Fallback && !p.needed.Load() {
		if first = request(s.Bucket); !errors.Is(first, ErrDenied) {
			return first
		}
	}
	own, err := p.open(ctx)
	if err != nil {
		return errors.Join(first, err)
	}
	err = request(own)
	if errors.Is(err, ErrDenied) && p.Renew != nil && p.Renew(ctx) {
		err = request(own)
	}
	switch {
	case errors.Is(err, ErrDenied) && first != nil:
		return fmt.Errorf("%w; the credentials vended for %s: %w", first, p.root+p.prefixes[0]+"/", err)
	case first != nil:
		p.needed.Store(true)
	}
	return err
}

// writes is the bucket in which a key is written: a request that writes can't be made twice.
func (s *scoped) writes(ctx context.Context, key string) (Bucket, error) {
	p := s.of(key)
	if p == nil || p.Fallback && !p.needed.Load() {
		return s.Bucket, nil
	}
	return p.open(ctx)
}

func (s *scoped) ReadRange(ctx context.Context, key string, off int64, dst []byte, opts ReadOptions) (n int, info Info, err error) {
	err = s.do(ctx, key, func(b Bucket) (err error) {
		n, info, err = b.ReadRange(ctx, key, off, dst, opts)
		return err
	})
	return n, info, err
}

func (s *scoped) ReadSuffix(ctx context.Context, key string, n int64, opts ReadOptions) (data []byte, info Info, err error) {
	err = s.do(ctx, key, func(b Bucket) (err error) {
		data, info, err = b.ReadSuffix(ctx, key, n, opts)
		return err
	})
	return data, info, err
}

func (s *scoped) Open(ctx context.Context, key string, off int64, opts ReadOptions) (r io.ReadCloser, info Info, err error) {
	err = s.do(ctx, key, func(b Bucket) (err error) {
		r, info, err = b.Open(ctx, key, off, opts)
		return err
	})
	return r, info, err
}

func (s *scoped) Stat(ctx context.Context, key string, opts ReadOptions) (info Info, err error) {
	err = s.do(ctx, key, func(b Bucket) (err error) {
		info, err = b.Stat(ctx, key, opts)
		return err
	})
	return info, err
}

func (s *scoped) Delete(ctx context.Context, key string, opts DeleteOptions) error {
	return s.do(ctx, key, func(b Bucket) error { return b.Delete(ctx, key, opts) })
}

// List begins again by other credentials only where nothing was yielded yet.
func (s *scoped) List(ctx context.Context, prefix string, opts ListOptions) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		yielded, stopped := false, false
		err := s.do(ctx, prefix, func(b Bucket) error {
			for info, err := range b.List(ctx, prefix, opts) {
				if err != nil {
					if yielded { // no second beginning
						stopped = !yield(Info{}, err)
						return nil
					}
					return err
				}
				yielded = true
				if stopped = !yield(info, nil); stopped {
					return nil
				}
			}
			return nil
		})
		if err != nil && !stopped {
			yield(Info{}, err)
		}
	}
}

func (s *scoped) Create(ctx context.Context, key string, opts CreateOptions) (Writer, error) {
	b, err := s.writes(ctx, key)
	if err != nil {
		return nil, err
	}
	return b.Create(ctx, key, opts)
}

// ProbeChecksum implements checksumProber.
func (s *scoped) ProbeChecksum(ctx context.Context, key string) (bool, error) {
	b, err := s.writes(ctx, key)
	if err != nil {
		return false, err
	}
	prober, ok := b.(checksumProber)
	if !ok {
		return false, errors.ErrUnsupported
	}
	return prober.ProbeChecksum(ctx, key)
}

func (s *scoped) Close() error {
	s.mu.Lock()
	all := slices.Clone(s.all)
	s.mu.Unlock()
	errs := []error{s.Bucket.Close()}
	for _, p := range all {
		p.once.Do(func() { p.err = NewError("open", p.root, ErrClosed, nil) })
		if p.bucket != nil {
			errs = append(errs, p.bucket.Close())
		}
	}
	return errors.Join(errs...)
}
