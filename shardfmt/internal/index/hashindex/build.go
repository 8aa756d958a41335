package hashindex

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math/bits"
	"slices"

	"github.com/shardcat/shardcat/shardfmt/internal/indexshard"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
)

// Builder collects hashes and positions and writes an index of them. Not for concurrent use.
type Builder struct {
	bits  int
	pairs []pair
}

type pair struct{ hash, position uint64 }

// NewBuilder starts an index of 2^partitionBits partitions.
func NewBuilder(partitionBits int) *Builder { return &Builder{bits: partitionBits} }

// Add notes that the record at a position has a key with a hash. A pair may be given more than once.
func (b *Builder) Add(hash, position uint64) { b.pairs = append(b.pairs, pair{hash, position}) }

// Size is about how many bytes are held.
func (b *Builder) Size() int { return 16 * len(b.pairs) }

// Hashes are those that were added so far, each once.
func (b *Builder) Hashes() (out []uint64) {
	b.sort()
	for i, p := range b.pairs {
		if i == 0 || p.hash != b.pairs[i-1].hash {
			out = append(out, p.hash)
		}
	}
	return out
}

// sort orders the pairs by hash and position, each once.
func (b *Builder) sort() {
	slices.SortFunc(b.pairs, func(x, y pair) int {
		return cmp.Or(cmp.Compare(x.hash, y.hash), cmp.Compare(x.position, y.position))
	})
	b.pairs = slices.Compact(b.pairs)
}

// Store is what writing an index needs of an object store; a *blobio.Client is one.
type Store = shardwriter.Store

// Object is one that was written.
type Object struct {
	URL  string
	Size int64
}

// Write writes the partitions and describes them. Their names are the prefix, "part" and a number, and the suffix of shards; typ is the
// type in the descriptor. After an error the objects are those that were written all the same. The builder is used up.
func (b *Builder) Write(ctx context.Context, to shardwriter.IndexTarget, typ string) (*metapb.IndexDescriptor, []Object, error) {
	b.sort()
	rest := b.pairs
	return writePartitions(ctx, to, typ, b.bits, func(part int, url string) (*indexshard.Written, error) {
		n, _ := slices.BinarySearchFunc(rest, part, func(p pair, part int) int {
			if partitionOf(p.hash, b.bits) <= part {
				return -1
			}
			return 1
		})
		pairs := rest[:n]
		rest = rest[n:]
		return writePartition(ctx, to.Store, url, partitionPairs{distinctOf(pairs), byBucket(pairs)}, 0)
	})
}

// writePartitions writes 2^bits partitions, one after the other.
func writePartitions(ctx context.Context, to shardwriter.IndexTarget, typ string, bits int, write func(part int, url string) (*indexshard.Written, error)) (*metapb.IndexDescriptor, []Object, error) {
	d, size := &metapb.IndexDescriptor{IndexType: typ}, uint64(0)
	var objects []Object
	for part := range 1 << bits {
		name := fmt.Sprintf("part%d", part)
		out, err := write(part, to.Prefix+name+".amudai.shard")
		if err != nil {
			return nil, objects, err
		}
		if typ != Type {
			name = ""
		}
		d.Artifacts = append(d.Artifacts, indexshard.Describe(to.Root, name, out))
		objects = append(objects, Object(*out))
		size += uint64(out.Size)
	}
	d.IndexSize = &size
	return d, objects, nil
}

// distinctOf counts the hashes of sorted pairs.
func distinctOf(pairs []pair) (n int) {
	for i := range pairs {
		if i == 0 || pairs[i].hash != pairs[i-1].hash {
			n++
		}
	}
	return n
}

// byBucket gives sorted pairs by the bucket they are in, of so many.
func byBucket(pairs []pair) func(buckets uint64) iter.Seq2[pair, error] {
	return func(buckets uint64) iter.Seq2[pair, error] {
		slices.SortStableFunc(pairs, func(x, y pair) int { return cmp.Compare(x.hash&(buckets-1), y.hash&(buckets-1)) })
		return func(yield func(pair, error) bool) {
			for _, p := range pairs {
				if !yield(p, nil) {
					return
				}
			}
		}
	}
}

// bucketsFor is how many buckets a partition of n hashes has.
func bucketsFor(n int) int {
	if n/2 <= 2 {
		return 2
	}
	return 1 << bits.Len(uint(n/2-1))
}
