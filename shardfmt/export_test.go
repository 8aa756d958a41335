package shardfmt

import (
	"context"

	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// Root is the shard's metadata.
func (s *Shard) Root() *meta.Root { return s.root }

// FieldStats is the descriptor of a field by its node number, for a stripe or, with a negative stripe, for
// the whole shard; nil where there is none.
func (s *Shard) FieldStats(ctx context.Context, stripe int, id uint32) (*metapb.FieldDescriptor, error) {
	if stripe < 0 {
		return s.root.ShardField(ctx, id)
	}
	d, _, err := s.root.StripeField(ctx, stripe, id)
	return d.GetField(), err
}

// RawProperties are properties of any kind of value.
func RawProperties(pairs ...*metapb.NameValuePair) []Property { return propertyList(pairs) }

// RawBags are both lists of them.
func RawBags(b meta.Bags) Properties { return propertiesOf(b) }
