package hashindex

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/internal/column"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/indexshard"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

const partitionSchema = "bucket: List<Struct<hash: UInt64, positions: List<UInt64>>>"

// partitionPairs are the pairs of a partition, which has so many distinct hashes: by bucket, hash and position, each once.
type partitionPairs struct {
	distinct int
	byBucket func(buckets uint64) iter.Seq2[pair, error]
}

// writePartition writes a partition. Memory is about how many bytes are held of what is written, 0 for all of it.
func writePartition(ctx context.Context, st Store, url string, pairs partitionPairs, memory int64) (*indexshard.Written, error) {
	s, err := indexshard.Schema(partitionSchema)
	if err != nil {
		return nil, err
	}
	w, err := indexshard.Create(ctx, st, url, s, indexshard.Options{Profile: encode.Balanced, Memory: memory})
	if err != nil {
		return nil, err
	}
	defer w.Abort(ctx)
	buckets := uint64(bucketsFor(pairs.distinct))
	p, err := newPartition(w, s)
	if err != nil {
		return nil, err
	}
	for x, err := range pairs.byBucket(buckets) {
		if err == nil {
			err = p.add(ctx, x.hash&(buckets-1), x)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := p.finish(ctx, buckets); err != nil {
		return nil, err
	}
	return indexshard.Finish(ctx, w)
}

// partition encodes the fields of a partition one by one, so that no list need be in memory:
//
//	buckets   lists of entries        one for each bucket, also where it is empty
//	entries   structs
//	hashes    u64                     one for each entry
//	lists     lists of positions      one for each entry
//	positions u64
type partition struct {
	w                *shardwriter.Writer
	buckets, entries column.Encoder
	lists            column.Encoder
	hashes           column.Encoder
	positions        column.Encoder

	bucket     uint64 // available
	last       uint64 // hash available
	begun      bool   // there is one, in the bucket available
	inBucket   int64  // entries
	inList     int64  // positions
	bucketEnds []int64
	listEnds   []int64
	hashRoom   []uint64
	room       []uint64 // of positions
}

// stagedValues of a field are handed to its encoder together.
const stagedValues = 32 << 10

func newPartition(w *shardwriter.Writer, s *schema.Schema) (*partition, error) {
	p := &partition{w: w}
	bucket := s.Fields[0]
	entry := bucket.Children[0]
	hash, positions := entry.Children[0], entry.Children[1]
	o := w.FieldOptions()
	var err error
	for _, x := range []struct {
		to   *column.Encoder
		node *schema.Node
		make func(*schema.Node, *column.Options) (column.Encoder, error)
	}{
		{&p.buckets, bucket, column.NewApart}, {&p.entries, entry, column.NewApart}, {&p.lists, positions, column.NewApart},
		{&p.hashes, hash, column.NewEncoder}, {&p.positions, positions.Children[0], column.NewEncoder},
	} {
		if *x.to, err = x.make(x.node, o); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// add takes the next pair, of a bucket.
func (p *partition) add(ctx context.Context, bucket uint64, x pair) error {
	if err := p.endBuckets(bucket); err != nil {
		return err
	}
	if !p.begun || x.hash != p.last {
		if err := p.endList(); err != nil {
			return err
		}
		p.last, p.begun = x.hash, true
		p.inBucket++
		p.hashRoom = append(p.hashRoom, x.hash)
	}
	p.inList++
	if p.room = append(p.room, x.position); len(p.room) < stagedValues {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return flushNumbers(p.positions, &p.room)
}

// endList ends the list available, if there is one.
func (p *partition) endList() error {
	if !p.begun {
		return nil
	}
	p.begun = false
	p.listEnds, p.inList = append(p.listEnds, p.inList), 0
	if len(p.listEnds) < stagedValues {
		return nil
	}
	return p.flushEntries()
}

// endBuckets ends the buckets before one.
func (p *partition) endBuckets(before uint64) error {
	for ; p.bucket < before; p.bucket++ {
		if err := p.endList(); err != nil {
			return err
		}
		p.bucketEnds, p.inBucket = append(p.bucketEnds, p.inBucket), 0
		if len(p.bucketEnds) < stagedValues {
			continue
		}
		if err := flushLists(p.buckets, &p.bucketEnds); err != nil {
			return err
		}
	}
	return nil
}

// flushEntries hands hashes and lists to their encoders.
func (p *partition) flushEntries() error {
	n := len(p.hashRoom)
	if err := flushNumbers(p.hashes, &p.hashRoom); err != nil {
		return err
	}
	structs := array.NewStructData(array.NewData(arrow.StructOf(), n, []*memory.Buffer{nil}, nil, 0, 0))
	if err := p.entries.Add(structs); err != nil {
		return err
	}
	return flushLists(p.lists, &p.listEnds)
}

// flushNumbers gives staged numbers to an encoder.
func flushNumbers(to column.Encoder, room *[]uint64) error {
	raw := memory.NewBufferBytes(arrow.Uint64Traits.CastToBytes(*room))
	a := array.NewUint64Data(array.NewData(arrow.PrimitiveTypes.Uint64, len(*room), []*memory.Buffer{nil, raw}, nil, 0, 0))
	*room = (*room)[:0]
	return to.Add(a)
}

// flushLists gives lists of staged lengths to an encoder.
func flushLists(to column.Encoder, lengths *[]int64) error {
	offsets := make([]int64, 1, len(*lengths)+1)
	for i, n := range *lengths {
		offsets = append(offsets, offsets[i]+n)
	}
	items := array.NewNull(int(offsets[len(offsets)-1]))
	raw := memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(offsets))
	data := array.NewData(arrow.LargeListOf(arrow.Null), len(*lengths), []*memory.Buffer{nil, raw}, []arrow.ArrayData{items.Data()}, 0, 0)
	*lengths = (*lengths)[:0]
	return to.Add(array.NewLargeListData(data))
}

// finish ends all buckets, and gives the fields to the writer.
func (p *partition) finish(ctx context.Context, buckets uint64) error {
	if err := p.endBuckets(buckets); err != nil {
		return err
	}
	if err := p.flushEntries(); err != nil {
		return err
	}
	if err := flushNumbers(p.positions, &p.room); err != nil {
		return err
	}
	if err := flushLists(p.buckets, &p.bucketEnds); err != nil {
		return err
	}
	var fields []*column.Encoded
	for _, e := range []column.Encoder{p.hashes, p.positions, p.lists, p.entries, p.buckets} {
		if err := e.Finish(func(f *column.Encoded) error { fields = append(fields, f); return nil }); err != nil {
			return err
		}
	}
	return p.w.AddStripe(ctx, buckets, fields...)
}
