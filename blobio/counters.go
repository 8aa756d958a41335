package blobio

import (
	"context"
	"sync/atomic"
)

// Counters are what a Client has asked of its stores since it was made. Each attempt counts; what a cache
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
}

// Sub is what was asked between before and c.
func (c Counters) Sub(before Counters) Counters {
	return Counters{
		Gets: c.Gets - before.Gets, GetBytes: c.GetBytes - before.GetBytes, Heads: c.Heads - before.Heads,
		Puts: c.Puts - before.Puts, PutBytes: c.PutBytes - before.PutBytes, Lists: c.Lists - before.Lists,
		Deletes: c.Deletes - before.Deletes, Depth: c.Depth - before.Depth, CacheHits: c.CacheHits - before.CacheHits,
	}
}

// tally is Counters while they count.
type tally struct {
	gets, getBytes, heads, puts, putBytes, lists, deletes, cacheHits atomic.Int64
	depth                                                            atomic.Int64
}

func (t *tally) read() Counters {
	return Counters{
		Gets: t.gets.Load(), GetBytes: t.getBytes.Load(), Heads: t.heads.Load(),
		Puts: t.puts.Load(), PutBytes: t.putBytes.Load(), Lists: t.lists.Load(),
		Deletes: t.deletes.Load(), Depth: t.depth.Load(), CacheHits: t.cacheHits.Load(),
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
}

type callKey struct{}

// call is a ReadSuffix, List, Create or Delete under way.
type call struct {
	client *Client
	strand *strand
}

func (s *Client) withCall(ctx context.Context) context.Context {
	return context.WithValue(ctx, callKey{}, &call{s, s.strand(ctx)})
}

// Count is for drivers: it counts the requests that one call of ReadSuffix, List, Create or Delete (and of
// the writer's methods) makes beyond its first, as the second page of a list. ctx is the one that the call was given.
// more.Depth is how many of them waited for one another.
func Count(ctx context.Context, more Counters) {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return
	}
	c.client.tally.add(more)
	if more.Depth > 0 {
		c.client.reach(c.strand, c.strand.depth.Load()+more.Depth)
	}
}

// raise sets a to n if n is more.
func raise(a *atomic.Int64, n int64) {
	for {
		old := a.Load()
		if n <= old || a.CompareAndSwap(old, n) {
			return
		}
	}
}
