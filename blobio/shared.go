package blobio

import (
	"context"
	"sync"

	"github.com/shardcat/shardcat/internal/etags"
)

// shared answers reads from the caches, and makes one request for all who request the same range meanwhile.
// It stands above the buckets and is left out where no cache is configured.
type shared struct {
	cacheable func(url string) bool
	memory    *memoryCache // or nil
	disk      *diskCache   // or nil

	mu      sync.Mutex
	flights map[flightKey]*flight
}

// flightKey also distinguishes what a read is pinned to.
type flightKey struct {
	cacheKey
	etag string
}

// flight is a request that several wait for. It goes on until the last of them has gone.
type flight struct {
	key     flightKey
	waiting int
	cancel  context.CancelFunc
	done    chan struct{}
	value   cached
	err     error
}

// newShared gives nil where nothing is to be cached.
func newShared(o CacheOptions) (*shared, error) {
	if o.Memory <= 0 && o.Dir == "" {
		return nil, nil
	}
	sh := &shared{cacheable: o.Cacheable, flights: map[flightKey]*flight{}}
	if o.Memory > 0 {
		sh.memory = newMemoryCache(o.Memory)
	}
	if o.Dir != "" {
		disk, err := openDiskCache(o.Dir, o.Disk)
		if err != nil {
			return nil, err
		}
		sh.disk = disk
	}
	return sh, nil
}

// takes reports whether a read goes through the caches.
func (sh *shared) takes(url string) bool {
	return sh != nil && (sh.cacheable == nil || sh.cacheable(url))
}

// read gives what key names, from the caches or by get. Hits count in t. The data must not be changed.
func (sh *shared) read(ctx context.Context, t *tally, key cacheKey, opts ReadOptions, get func(ctx context.Context) (cached, error)) (cached, error) {
	if v, ok := sh.lookUp(key); ok && (opts.IfMatch == "" || etags.Same(opts.IfMatch, v.info.ETag)) {
		t.cacheHits.Add(1)
		return v, nil
	}
	answered := opts.Trace.request()
	f, mine := sh.join(ctx, flightKey{key, opts.IfMatch})
	if mine != nil {
		go sh.fly(mine, f, get)
	}
	select {
	case <-f.done:
		answered()
		return f.value, f.err
	case <-ctx.Done():
		sh.leave(f)
		return cached{}, NewError("read", key.url, ErrCanceled, context.Cause(ctx))
	}
}

func (sh *shared) lookUp(key cacheKey) (cached, bool) {
	if sh.memory != nil {
		if v, ok := sh.memory.get(key); ok {
			return v, true
		}
	}
	if sh.disk != nil {
		if v, ok := sh.disk.get(key); ok {
			if sh.memory != nil {
				sh.memory.put(key, v)
			}
			return v, true
		}
	}
	return cached{}, false
}

// join finds the flight for key or begins one, for which it gives the context.
func (sh *shared) join(ctx context.Context, key flightKey) (f *flight, begun context.Context) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if f := sh.flights[key]; f != nil {
		f.waiting++
		return f, nil
	}
	begun, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f = &flight{key: key, waiting: 1, cancel: cancel, done: make(chan struct{})}
	sh.flights[key] = f
	return f, begun
}

// leave ends the flight if nobody waits for it any more.
func (sh *shared) leave(f *flight) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if f.waiting--; f.waiting == 0 {
		f.cancel()
		sh.land(f)
	}
}

// land lets later readers begin a flight of their own. It is called with the lock held.
func (sh *shared) land(f *flight) {
	if sh.flights[f.key] == f {
		delete(sh.flights, f.key)
	}
}

func (sh *shared) fly(ctx context.Context, f *flight, get func(ctx context.Context) (cached, error)) {
	defer f.cancel()
	f.value, f.err = get(ctx)
	if f.err == nil {
		sh.keep(f.key.cacheKey, f.value)
	}
	sh.mu.Lock()
	sh.land(f)
	sh.mu.Unlock()
	close(f.done)
}

// drop removes all cached ranges of an object.
func (sh *shared) drop(url string) {
	if sh.memory != nil {
		sh.memory.drop(url)
	}
	if sh.disk != nil {
		sh.disk.drop(url)
	}
}

func (sh *shared) keep(key cacheKey, v cached) {
	if sh.memory != nil {
		sh.memory.put(key, v)
	}
	if sh.disk != nil {
		sh.disk.put(key, v)
	}
}
