package view

import (
	"container/list"
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/singleflight"
)

// cache keeps objects that were made, up to a number of bytes, the least recently used go first. Objects never change, so nothing in it
// becomes stale. Concurrent requests for one object make it once.
type cache struct {
	limit  int64
	making singleflight.Group

	mu    sync.Mutex
	used  int64
	order *list.List // of *cached, the most recently used first
	all   map[string]*list.Element
}

type cached struct {
	key    string
	object Object
	weight int64
}

func newCache(limit int64) *cache {
	return &cache{limit: limit, order: list.New(), all: map[string]*list.Element{}}
}

func (c *cache) get(key string) Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.all[key]
	if !ok {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached).object
}

func (c *cache) put(key string, o Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	weight := o.Memory() + int64(len(key)) + 256 // of the entry itself
	if _, ok := c.all[key]; ok || weight > c.limit/2 {
		return
	}
	c.all[key] = c.order.PushFront(&cached{key, o, weight})
	c.used += weight
	for c.used > c.limit {
		last := c.order.Back()
		old := c.order.Remove(last).(*cached)
		delete(c.all, old.key)
		c.used -= old.weight
	}
}

// object returns the object of a key, which build makes if it is not cached.
func (c *cache) object(ctx context.Context, key string, build func(context.Context) (Object, error)) (Object, error) {
	for {
		if o := c.get(key); o != nil {
			return o, nil
		}
		made, err, shared := c.making.Do(key, func() (any, error) {
			o, err := build(ctx)
			if err == nil {
				c.put(key, o)
			}
			return o, err
		})
		if err == nil {
			return made.(Object), nil
		}
		if shared && ctx.Err() == nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
			continue // the request that made it ended, this one has not
		}
		return nil, err
	}
}
