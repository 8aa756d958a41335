package stripeindex

import (
	"context"
	"slices"

	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
)

// OfOneStripe are all indexes that are described of a stripe, also in the descriptions of its fields.
func OfOneStripe(ctx context.Context, root *meta.Root, stripe int) ([]*metapb.IndexDescriptor, error) {
	c, err := root.StripeIndexes(ctx, stripe)
	if err != nil {
		return nil, err
	}
	s, err := root.Schema(ctx)
	if err != nil {
		return nil, err
	}
	out := slices.Clip(c.GetIndexDescriptors())
	for id := range s.Count {
		f, _, err := root.StripeField(ctx, stripe, id)
		if err != nil {
			return nil, err
		}
		out = append(out, f.GetField().GetIndexes().GetIndexDescriptors()...)
	}
	return out, nil
}

// OfAllStripes are all indexes that are described of a shard as a whole, also in the descriptions of its fields.
func OfAllStripes(ctx context.Context, root *meta.Root) ([]*metapb.IndexDescriptor, error) {
	c, err := root.Indexes(ctx)
	if err != nil {
		return nil, err
	}
	s, err := root.Schema(ctx)
	if err != nil {
		return nil, err
	}
	out := slices.Clip(c.GetIndexDescriptors())
	for id := range s.Count {
		for _, d := range root.ShardFieldIndexes(ctx, id).GetIndexDescriptors() {
			if base, _ := meta.Properties(d.Properties).Text(propertyBase); base != baseStripe { // those of the only stripe may be listed a second time
				out = append(out, d)
			}
		}
	}
	return out, nil
}

// FieldOf is the field in whose description an index stands; ok is false for one that stands among those of a stripe or shard.
func FieldOf(d *metapb.IndexDescriptor) (id uint32, ok bool) { return shardwriter.FieldOf(d) }
