package blobio

import "sync/atomic"

// Counters are the requests of a Client to its stores since it was made. Each attempt counts; what a cache
// answered does not. On file and mem a ranged read counts as a GET and a stat as a HEAD.
type Counters struct {
	Gets     int64 `json:"gets"`
	GetBytes int64 `json:"get_bytes"` // bytes that arrived
	Heads    int64 `json:"heads"`
	Puts     int64 `json:"puts"`
	PutBytes int64 `json:"put_bytes"` // bytes that were handed over
	Lists    int64 `json:"lists"`
	Deletes  int64 `json:"deletes"`
	// Depth is the length of the longest chain of requests that had to wait for one another.
	Depth int64 `json:"depth"`
	// CacheHits are reads that needed no request.
	CacheHits int64 `json:"cache_hits"`
	// Retries are requests that were made again because of a fault that may pass; they count among the others too.
	Retries int64 `json:"retries"`
}

// Sub is the requests made between before and c.
func (c Counters) Sub(before Counters) Counters {
	return Counters{
		Gets: c.Gets - before.Gets, GetBytes: c.GetBytes - before.GetBytes, Heads: c.Heads - before.Heads,
		Puts: c.Puts - before.Puts, PutBytes: c.PutBytes - before.PutBytes, Lists: c.Lists - before.Lists,
		Deletes: c.Deletes - before.Deletes, Depth: c.Depth - before.Depth, CacheHits: c.CacheHits - before.CacheHits,
		Retries: c.Retries - before.Retries,
	}
}

// tally is Counters while they count.
type tally struct {
	gets, getBytes, heads, puts, putBytes, lists, deletes, cacheHits, retries atomic.Int64
	depth                                                                     atomic.Int64
}

func (t *tally) read() Counters {
	return Counters{
		Gets: t.gets.Load(), GetBytes: t.getBytes.Load(), Heads: t.heads.Load(),
		Puts: t.puts.Load(), PutBytes: t.putBytes.Load(), Lists: t.lists.Load(),
		Deletes: t.deletes.Load(), Depth: t.depth.Load(), CacheHits: t.cacheHits.Load(),
		Retries: t.retries.Load(),
	}
}

func (t *tally) add(c Counters) {
	t.gets.Add(c.Gets)
	t.getBytes.Add(c.GetBytes)
	t.heads.Add(c.Heads)
	t.puts.Add(c.Puts)
	t.putBytes.Add(c.PutBytes)
	t.lists.Add(c.Lists)
	t.deletes.Add(c.Deletes)
	t.retries.Add(c.Retries)
}

// both are the requests to all stores together, and of one of them; also, if not nil, the requests through one view.
type both struct{ all, one, also *tally }

func (b both) add(c Counters) {
	b.all.add(c)
	b.one.add(c)
	if b.also != nil {
		b.also.add(c)
	}
}

func (b both) got(bytes int64) {
	b.all.getBytes.Add(bytes)
	b.one.getBytes.Add(bytes)
	if b.also != nil {
		b.also.getBytes.Add(bytes)
	}
}

func (b both) gave(bytes int64) {
	b.all.putBytes.Add(bytes)
	b.one.putBytes.Add(bytes)
}

// CountersByStore are the counters of each bucket that the Client has opened, by its canonical URL. Depth and cache hits are of no one store and 0.
func (c *Client) CountersByStore() map[string]Counters {
	c.mu.RLock()
	defer c.mu.RUnlock()
	out := make(map[string]Counters, len(c.mounts))
	for root, m := range c.mounts {
		out[root] = m.tally.read()
	}
	return out
}
