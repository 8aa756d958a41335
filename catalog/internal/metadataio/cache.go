package metadataio

import (
	"container/list"
	"sync"
)

// DefaultCache holds the manifests of a table of about a hundred thousand shards.
const DefaultCache = 64 << 20

// fileCache keeps the most recently used files up to a number of bytes.
type fileCache struct {
	mu    sync.Mutex
	limit int
	free  int        // the rest of limit
	order *list.List // of cachedFile, most recent first
	at    map[string]*list.Element
}

type cachedFile struct {
	name string
	data []byte
}

func newFileCache(limit int) *fileCache {
	return &fileCache{limit: limit, free: limit, order: list.New(), at: map[string]*list.Element{}}
}

func (c *fileCache) get(name string) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.at[name]
	if e == nil {
		return nil, false
	}
	c.order.MoveToFront(e)
	return e.Value.(cachedFile).data, true
}

func (c *fileCache) put(name string, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at[name] != nil || len(data) > c.free/4 {
		return
	}
	c.at[name] = c.order.PushFront(cachedFile{name, data})
	for c.free -= len(data); c.free < 0; {
		oldest := c.order.Remove(c.order.Back()).(cachedFile)
		delete(c.at, oldest.name)
		c.free += len(oldest.data)
	}
}

func (c *fileCache) drop(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.at[name]; e != nil {
		c.free += len(c.order.Remove(e).(cachedFile).data)
		delete(c.at, name)
	}
}
