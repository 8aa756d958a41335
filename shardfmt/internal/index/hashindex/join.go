package hashindex

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/indexshard"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/urlresolve"
)

// Part is the index of one shard as it becomes a part of that of several: its records are FirstRecord later there.
type Part struct {
	Descriptor *metapb.IndexDescriptor
	// Base is the object whose folder relative references start at, Store what they are read from.
	Base  string
	Store meta.Store
	// Records of the shard.
	Records, FirstRecord uint64
}

const (
	// joinTail is what is kept of the end of a partition while it is read, bucketsAhead how many buckets are read together.
	joinTail     = 1 << 20
	bucketsAhead = 16 << 10
	// leastRead is how many bytes a read of buckets may take in any case.
	leastRead = 8 << 20
	// leastMemory keeps a small bound from making a temporary file of each pair.
	leastMemory = 1 << 20
)

// Join writes the index of shards that are put one behind the other, of their indexes; memory is that of NewPairs, 1 MiB at least. Each part is read once. A
// part that is not as it must be is a corrupt.ErrCorrupt.
func Join(ctx context.Context, to shardwriter.IndexTarget, parts []Part, p urlresolve.Policy, memory int) (*metapb.IndexDescriptor, []Object, error) {
	if memory > 0 {
		memory = max(memory, leastMemory)
	}
	all := NewPairs(memory)
	defer all.Close()
	for i := range parts {
		if err := all.addPart(ctx, &parts[i], p); err != nil {
			return nil, nil, err
		}
	}
	return all.Write(ctx, to, Type)
}

// addPart takes the pairs of a part.
func (p *Pairs) addPart(ctx context.Context, part *Part, policy urlresolve.Policy) error {
	bits, err := Parse(part.Descriptor)
	if err != nil {
		return corrupt.Locate(err, part.Base, 0)
	}
	for i, a := range part.Descriptor.Artifacts {
		url, err := urlresolve.Resolve(part.Base, a.DataRef.GetUrl(), policy)
		if err != nil {
			return err
		}
		shards, err := indexshard.OpenOnce(ctx, part.Store, []string{url}, policy, joinTail)
		if err != nil {
			return err
		}
		if err := p.addPartition(ctx, shards[0], part, i, bits); err != nil {
			return err
		}
	}
	return nil
}

// A partition may have mostEmpty buckets, or emptyFor for each record: more cost no byte, as rows that are not there, but are gone through all the same.
const emptyFor = 64

// mostEmpty is a variable for tests.
var mostEmpty uint64 = 1 << 20

// addPartition takes the pairs of partition number i.
func (p *Pairs) addPartition(ctx context.Context, s *indexshard.Shard, part *Part, i, bits int) error {
	buckets := s.Records()
	if buckets == 0 || buckets&(buckets-1) != 0 {
		return s.Corrupt("%d buckets, which is not a power of two", buckets)
	}
	if buckets > max(mostEmpty, emptyFor*min(part.Records, 1<<50)) {
		return s.Corrupt("%d buckets for %d records", buckets, part.Records)
	}
	for at, ahead := uint64(0), uint64(bucketsAhead); at < buckets; {
		to, within := min(at+ahead, buckets), int64(max(p.memory, leastRead))
		if ahead == 1 {
			within = 0
		}
		batches, err := s.ReadWithin(ctx, at, to, within)
		if errors.Is(err, corrupt.ErrUnsupported) && ahead > 1 { // whose lists are long
			ahead /= 2
			continue
		}
		if err != nil {
			return err
		}
		for _, b := range batches {
			if err := p.addBuckets(b, s, part, func(hash uint64, row int) bool {
				return partitionOf(hash, bits) == i && hash&(buckets-1) == at+uint64(row)
			}); err != nil {
				return err
			}
			at += uint64(b.NumRows())
		}
		at = to
	}
	return nil
}

// addBuckets takes the pairs of a batch of buckets; in reports whether a hash may be in one.
func (p *Pairs) addBuckets(b arrow.RecordBatch, s *indexshard.Shard, part *Part, in func(hash uint64, row int) bool) error {
	c, ok := openBuckets(b)
	if !ok {
		return s.Corrupt("unexpected schema of a partition of a hash index: %v", s.Schema())
	}
	for row := range int(b.NumRows()) {
		first, last := c.buckets.Range(row)
		for k := first; k < last; k++ {
			hash := c.hashes.Value(k)
			if !in(hash, row) {
				return s.Corrupt("hash %016x is in the wrong bucket", hash)
			}
			from, to := c.lists.Range(k)
			for _, position := range c.positions.Uint64Values()[from:to] {
				if position >= part.Records {
					return s.Corrupt("hash %016x has position %d, of %d", hash, position, part.Records)
				}
				if err := p.Add(hash, position+part.FirstRecord); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// bucketColumns are the columns of a partition.
type bucketColumns struct {
	buckets, lists    *indexshard.List
	hashes, positions *array.Uint64
}

// openBuckets finds the columns by their place; ok is false if they are of other types.
func openBuckets(b arrow.RecordBatch) (c bucketColumns, ok bool) {
	if b.NumCols() < 1 {
		return c, false
	}
	if c.buckets = indexshard.NewList(b.Column(0)); c.buckets == nil {
		return c, false
	}
	items, ok := c.buckets.Items.(*array.Struct)
	if !ok || items.NumField() < 2 {
		return c, false
	}
	if c.hashes, ok = items.Field(0).(*array.Uint64); !ok {
		return c, false
	}
	if c.lists = indexshard.NewList(items.Field(1)); c.lists == nil {
		return c, false
	}
	c.positions, ok = c.lists.Items.(*array.Uint64)
	return c, ok
}
