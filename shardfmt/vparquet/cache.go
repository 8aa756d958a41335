package vparquet

import (
	"container/list"
	"sync"
)

// Cache keeps what virtual files were made of: pages, and the sizes of those that had to be counted. The least recently used go first.
// One cache serves any number of files. Safe for concurrent use.
type Cache struct {
	mu      sync.Mutex
	limit   int64
	used    int64
	entries map[cacheKey]*list.Element
	order   list.List // the most recently used first
}

// cacheKey names a page, or the counts of a chunk (page -1).
type cacheKey struct {
	file        string
	chunk, page int
}

type cacheEntry struct {
	key   cacheKey
	value any
	size  int64
}

// entryOverhead is about what an entry takes beside its value.
const entryOverhead = 200

// NewCache makes a cache of up to limit bytes.
func NewCache(limit int64) *Cache {
	return &Cache{limit: limit, entries: map[cacheKey]*list.Element{}}
}

// Used is the number of bytes that the cache holds.
func (c *Cache) Used() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}

func (c *Cache) get(k cacheKey) (any, bool) {
	if c == nil {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[k]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*cacheEntry).value, true
}

// put keeps a value. One larger than an eighth of the cache is not kept.
func (c *Cache) put(k cacheKey, v any, size int64) {
	size += entryOverhead
	if c == nil || size > c.limit/8 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.entries[k]; ok {
		return
	}
	c.entries[k] = c.order.PushFront(&cacheEntry{k, v, size})
	for c.used += size; c.used > c.limit; {
		last := c.order.Remove(c.order.Back()).(*cacheEntry)
		delete(c.entries, last.key)
		c.used -= last.size
	}
}
