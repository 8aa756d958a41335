package hashindex

import (
	"context"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/indexshard"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/urlresolve"
)

// Index is an opened hash index. Its partitions are opened when they are first asked. Safe for concurrent use.
type Index struct {
	store  meta.Store
	policy urlresolve.Policy
	urls   []string
	bits   int

	mu         sync.Mutex
	partitions map[int]*indexshard.Shard
}

// Open opens the index that d describes. base is the object whose folder relative references start at. It makes no
// request.
func Open(st meta.Store, base string, d *metapb.IndexDescriptor, p urlresolve.Policy) (*Index, error) {
	bits, err := Parse(d)
	if err != nil {
		return nil, corrupt.Locate(err, base, 0)
	}
	x := &Index{store: st, policy: p, bits: bits, partitions: make(map[int]*indexshard.Shard)}
	for _, a := range d.Artifacts {
		url, err := urlresolve.Resolve(base, a.DataRef.GetUrl(), p)
		if err != nil {
			return nil, err
		}
		x.urls = append(x.urls, url)
	}
	return x, nil
}

// Lookup gives the positions of records whose keys have a hash, ascending and each once; none for a hash that does not
// occur.
func (x *Index) Lookup(ctx context.Context, hash uint64) ([]uint64, error) {
	s, err := x.partition(ctx, partitionOf(hash, x.bits))
	if err != nil {
		return nil, err
	}
	buckets := s.Records()
	if buckets == 0 || buckets&(buckets-1) != 0 {
		return nil, s.Corrupt("%d buckets, which is not a power of two", buckets)
	}
	at := hash & (buckets - 1)
	batches, err := s.Read(ctx, at, at+1)
	if err != nil {
		return nil, err
	}
	found, ok := inBucket(batches[0], hash)
	if !ok {
		return nil, s.Corrupt("unexpected schema of a partition of a hash index: %v", s.Schema())
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// partitionOf is the number of the partition that a hash is in.
func partitionOf(hash uint64, bits int) int {
	if bits == 0 {
		return 0
	}
	return int(hash >> (64 - bits))
}

// partition opens a partition, or remembers it.
func (x *Index) partition(ctx context.Context, i int) (*indexshard.Shard, error) {
	x.mu.Lock()
	s := x.partitions[i]
	x.mu.Unlock()
	if s != nil {
		return s, nil
	}
	s, err := indexshard.Open(ctx, x.store, x.urls[i], x.policy)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	x.partitions[i] = s
	x.mu.Unlock()
	return s, nil
}

// inBucket looks for a hash in a bucket, the first record of a batch. Columns count by their place; ok is false if they
// are of other types.
func inBucket(b arrow.RecordBatch, hash uint64) (found []uint64, ok bool) {
	c, ok := openBuckets(b)
	if !ok {
		return nil, false
	}
	first, last := c.buckets.Range(0)
	for i := first; i < last; i++ {
		if c.hashes.Value(i) == hash {
			from, to := c.lists.Range(i)
			return slices.Clone(c.positions.Uint64Values()[from:to]), true
		}
	}
	return nil, true
}
