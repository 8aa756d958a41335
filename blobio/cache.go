package blobio

import (
	"container/list"
	"sync"
)

// CacheOptions configure what a Client keeps of what it read. Both tiers are off in the zero value. Objects are
// write-once, so nothing is ever invalidated but damaged copies (Client.Forget).
type CacheOptions struct {
	// Memory is the most bytes kept in memory, for what is small and read again: roots, block maps, index
	// pages. What is larger than an eighth of it is not kept there.
	Memory int64
	// Dir is a folder for the tier on disk; several processes may share it. Empty is no such tier.
	Dir string
	// Disk is the most bytes kept there, DefaultDiskCache if 0.
	Disk int64
	// Cacheable determines which URLs are kept; nil is all. Objects whose names are used again, as those of
	// leases, must not be.
	Cacheable func(url string) bool
}

// DefaultDiskCache is the size of the tier on disk where none is given.
const DefaultDiskCache = 10 << 30

// memoryOverhead is about what an entry costs beside its data.
const memoryOverhead = 256

// cacheKey names what was read.
type cacheKey struct {
	url    string
	off, n int64 // off < 0: see the constants
}

const (
	// suffixOf is the off of a read of the last n bytes.
	suffixOf = -1
	// wholeOf is the off of a read of a whole object of at most n bytes.
	wholeOf = -2
)

// cached is what a read brought. It is never changed.
type cached struct {
	info Info
	data []byte
}

// memoryCache keeps what is read again and lets a scan pass (S3-FIFO, Yang et al., SOSP 2023): what comes for
// the first time waits in a small queue, and only if it is requested there does it move to the main queue.
// What a scan reads once leaves by the small queue and pushes nothing out of the main one. Keys that left
// unasked are remembered for a while, and come back to the main queue at once.
type memoryCache struct {
	mu          sync.Mutex
	most        int64
	bytes       int64 // in both queues
	smallBytes  int64
	entries     map[cacheKey]*list.Element // in small or main
	ghosts      map[cacheKey]*list.Element
	small, main list.List // of *memoryEntry, newest first
	ghost       list.List // of cacheKey
}

type memoryEntry struct {
	key   cacheKey
	value cached
	size  int64
	asked int // since it came to its queue, at most 3
	main  bool
}

func newMemoryCache(most int64) *memoryCache {
	return &memoryCache{most: most, entries: map[cacheKey]*list.Element{}, ghosts: map[cacheKey]*list.Element{}}
}

func (c *memoryCache) get(key cacheKey) (cached, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if !ok {
		return cached{}, false
	}
	entry := e.Value.(*memoryEntry)
	entry.asked = min(entry.asked+1, 3)
	return entry.value, true
}

func (c *memoryCache) put(key cacheKey, value cached) {
	size := int64(len(value.data)) + memoryOverhead
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, there := c.entries[key]; there || size > c.most/8 {
		return
	}
	entry := &memoryEntry{key: key, value: value, size: size}
	if g, known := c.ghosts[key]; known {
		c.ghost.Remove(g)
		delete(c.ghosts, key)
		entry.main = true
	}
	c.push(entry)
	for c.bytes > c.most {
		c.evict()
	}
}

func (c *memoryCache) push(e *memoryEntry) {
	e.asked = 0
	c.bytes += e.size
	if e.main {
		c.entries[e.key] = c.main.PushFront(e)
		return
	}
	c.smallBytes += e.size
	c.entries[e.key] = c.small.PushFront(e)
}

// evict lets one entry go, or moves it to where it will be judged again.
func (c *memoryCache) evict() {
	if c.smallBytes > c.most/10 || c.main.Len() == 0 {
		e := c.remove(c.small.Back())
		if e.asked > 0 {
			e.main = true
			c.push(e)
		} else {
			c.remember(e.key)
		}
		return
	}
	e := c.remove(c.main.Back())
	if asked := e.asked; asked > 0 {
		c.push(e)
		e.asked = asked - 1
	}
}

// remove takes an entry out of its queue.
func (c *memoryCache) remove(at *list.Element) *memoryEntry {
	e := at.Value.(*memoryEntry)
	if e.main {
		c.main.Remove(at)
	} else {
		c.small.Remove(at)
		c.smallBytes -= e.size
	}
	delete(c.entries, e.key)
	c.bytes -= e.size
	return e
}

// drop removes all entries of an object.
func (c *memoryCache) drop(url string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, at := range c.entries {
		if key.url == url {
			c.remove(at)
		}
	}
}

// remember keeps as many keys as there are entries in the cache.
func (c *memoryCache) remember(key cacheKey) {
	c.ghosts[key] = c.ghost.PushFront(key)
	for c.ghost.Len() > max(16, len(c.entries)) {
		delete(c.ghosts, c.ghost.Remove(c.ghost.Back()).(cacheKey))
	}
}
