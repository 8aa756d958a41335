package hashindex

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/artifact"
	"github.com/shardcat/shardcat/internal/encode"
	"github.com/shardcat/shardcat/internal/write"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Builder collects hashes and positions and writes an index of them. Not for concurrent use.
type Builder struct {
	bits  int
	pairs []pair
}

type pair struct{ hash, position uint64 }

// NewBuilder starts an index of 2^partitionBits partitions.
func NewBuilder(partitionBits int) *Builder { return &Builder{bits: partitionBits} }

// Add says that the record at a position has a key with a hash. A pair may be given more than once.
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
type Store = write.Store

// Object is one that was written.
type Object struct {
	URL  string
	Size int64
}

// Write writes the partitions and describes them in terms of root, the object that will hold the description. Their
// names are prefix, "part" and a number, and the suffix of shards; typ is the type in the descriptor. After an error
// the objects are those that were written all the same. The builder is used up.
func (b *Builder) Write(ctx context.Context, st Store, root, prefix, typ string) (*metapb.IndexDescriptor, []Object, error) {
	b.sort()
	rest := b.pairs
	return writePartitions(ctx, st, root, prefix, typ, b.bits, func(part int) ([]pair, error) {
		n, _ := slices.BinarySearchFunc(rest, part, func(p pair, part int) int {
			if partitionOf(p.hash, b.bits) <= part {
				return -1
			}
			return 1
		})
		pairs := rest[:n]
		rest = rest[n:]
		return pairs, nil
	})
}

// writePartitions writes 2^bits partitions, whose pairs the function gives one after the other, sorted and each once.
func writePartitions(ctx context.Context, st Store, root, prefix, typ string, bits int, pairs func(part int) ([]pair, error)) (*metapb.IndexDescriptor, []Object, error) {
	d, size := &metapb.IndexDescriptor{IndexType: typ}, uint64(0)
	var objects []Object
	for part := range 1 << bits {
		of, err := pairs(part)
		if err != nil {
			return nil, objects, err
		}
		name := fmt.Sprintf("part%d", part)
		out, err := writePartition(ctx, st, prefix+name+".amudai.shard", of)
		if err != nil {
			return nil, objects, err
		}
		if typ != Type {
			name = ""
		}
		d.Artifacts = append(d.Artifacts, artifact.Describe(root, name, out))
		objects = append(objects, Object(*out))
		size += uint64(out.Size)
	}
	d.IndexSize = &size
	return d, objects, nil
}

// bucketsFor is how many buckets a partition of n hashes has.
func bucketsFor(n int) int {
	if n/2 <= 2 {
		return 2
	}
	return 1 << bits.Len(uint(n/2-1))
}

const (
	partitionSchema = "bucket: List<Struct<hash: UInt64, positions: List<UInt64>>>"
	// batchBuckets are written at a time.
	batchBuckets = 16 << 10
)

// writePartition writes the pairs of one partition, which are sorted and each there once.
func writePartition(ctx context.Context, st Store, url string, pairs []pair) (*artifact.Written, error) {
	s, err := artifact.Schema(partitionSchema)
	if err != nil {
		return nil, err
	}
	w, err := artifact.Create(ctx, st, url, s, encode.Balanced)
	if err != nil {
		return nil, err
	}
	defer w.Abort(ctx)
	if err := writeBuckets(ctx, w, s, pairs); err != nil {
		return nil, err
	}
	return artifact.Finish(ctx, w)
}

func writeBuckets(ctx context.Context, w *write.Writer, s *schema.Schema, pairs []pair) error {
	distinct := 0
	for i := range pairs {
		if i == 0 || pairs[i].hash != pairs[i-1].hash {
			distinct++
		}
	}
	mask := uint64(bucketsFor(distinct) - 1)
	slices.SortStableFunc(pairs, func(x, y pair) int { return cmp.Compare(x.hash&mask, y.hash&mask) })
	rows := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
	flush := func() error {
		b := rows.NewRecordBatch()
		defer b.Release()
		return w.Write(ctx, b)
	}
	for bucket := range mask + 1 {
		n := 0
		for n < len(pairs) && pairs[n].hash&mask == bucket {
			n++
		}
		appendBucket(rows.Field(0).(*array.LargeListBuilder), pairs[:n])
		pairs = pairs[n:]
		if (bucket+1)%batchBuckets == 0 {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// appendBucket appends one record.
func appendBucket(bucket *array.LargeListBuilder, pairs []pair) {
	bucket.Append(true)
	entry := bucket.ValueBuilder().(*array.StructBuilder)
	for i, p := range pairs {
		positions := entry.FieldBuilder(1).(*array.LargeListBuilder)
		if i == 0 || p.hash != pairs[i-1].hash {
			entry.Append(true)
			entry.FieldBuilder(0).(*array.Uint64Builder).Append(p.hash)
			positions.Append(true)
		}
		positions.ValueBuilder().(*array.Uint64Builder).Append(p.position)
	}
}
