package stripeindex

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/internal/index/hashindex"
	"github.com/shardcat/shardcat/shardfmt/internal/index/layerindex"
	"github.com/shardcat/shardcat/shardfmt/internal/index/textindex"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
)

// shared collects an index of the shard as a whole, stripe after stripe. The zero value is none.
type shared struct {
	lists *textindex.Lists
	pairs *hashindex.Pairs
	keys  *layerindex.Builder
	// stripes and records are those of the stripes so far.
	stripes int
	records uint64
}

func (s *shared) begin(kind Kind, layer func() *layerindex.Builder) {
	switch kind {
	case Hash:
		s.pairs = hashindex.NewPairs(0)
	case Layer:
		s.keys = layer()
	default:
		s.lists = textindex.NewLists(0)
	}
}

// close lets go of what is held.
func (s *shared) close() {
	if s.lists != nil {
		s.lists.Close()
	}
	if s.pairs != nil {
		s.pairs.Close()
	}
	if s.keys != nil {
		s.keys.Close()
	}
}

// finishShared takes the stripe available into the index of the shard, and describes its term filter.
func (b *Builder) finishShared(ctx context.Context, to shardwriter.IndexTarget) ([]*metapb.IndexDescriptor, []shardwriter.Object, error) {
	if b.spec.Kind == Layer { // whose keys are there already
		b.shared.stripes++
		b.shared.records += b.rows
		return nil, nil, nil
	}
	keys, d, err := b.share()
	b.shared.stripes++
	b.shared.records += b.rows
	if err != nil || len(keys) == 0 {
		return nil, nil, err
	}
	b.describe(d, meta.Pair(propertyBase, meta.Text(baseStripe)), b.scope())
	f, objects, err := b.filters.add(ctx, to, d, keys)
	if err != nil {
		return nil, objects, err
	}
	return []*metapb.IndexDescriptor{f}, objects, nil
}

// share gives the stripe available to the index of the shard. It reports the keys for its term filter, and how an index is described.
func (b *Builder) share() (keys []uint64, d *metapb.IndexDescriptor, err error) {
	if b.spec.Kind == Hash {
		keys = b.hash.Hashes()
		return keys, &metapb.IndexDescriptor{IndexType: hashindex.Type}, b.shared.pairs.AddAll(b.hash, b.shared.records)
	}
	keys = b.termKeys()
	return keys, b.text.Describe(), b.shared.lists.Add(b.text, b.shared.stripes, b.shared.records)
}

func (b *Builder) scope() *metapb.NameValuePair {
	return meta.Pair(propertyScope, meta.Text(scopeNames[OfShard]))
}

// closeShared writes the index of the shard, if any of its stripes has something to index.
func (b *Builder) closeShared(ctx context.Context, to shardwriter.IndexTarget) ([]*metapb.IndexDescriptor, []shardwriter.Object, error) {
	if b.shared.stripes == 0 {
		return nil, nil, nil
	}
	var d *metapb.IndexDescriptor
	var out []shardwriter.Object
	var err error
	if b.spec.Kind == Hash {
		var objects []hashindex.Object
		d, objects, err = b.shared.pairs.Write(ctx, to, hashindex.Type)
		out = written(objects)
	} else if b.spec.Kind == Layer {
		var objects []layerindex.Object
		d, objects, err = b.shared.keys.Write(ctx, to)
		out = written(objects)
	} else {
		var objects []textindex.Object
		d, objects, err = b.shared.lists.Write(ctx, to)
		out = written(objects)
	}
	if err != nil || d == nil {
		return nil, out, err
	}
	b.describe(d, b.scope(), meta.Pair(propertyRecords, meta.Uint(b.shared.records)))
	return []*metapb.IndexDescriptor{d}, out, nil
}

// setRecords reports how many records the shard has that an index is of.
func setRecords(d *metapb.IndexDescriptor, n uint64) {
	bag := meta.Properties(d.Properties)
	bag.Set(propertyRecords, meta.Uint(n))
	d.Properties = bag
}

// bare is the descriptor without artifacts.
func bare(d *metapb.IndexDescriptor) *metapb.IndexDescriptor {
	d = proto.CloneOf(d)
	d.Artifacts, d.IndexSize = nil, nil
	return d
}
