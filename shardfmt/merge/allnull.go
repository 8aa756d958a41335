package merge

import (
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/stats"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// allNull is the descriptor of a scalar field whose n values in a stripe are all null, as a writer makes it: a
// constant without buffers (docs/format/fields.md).
func allNull(node *schema.Node, n uint64) *metapb.StripeFieldDescriptor {
	c := stats.NewCollector(node, stats.Options{})
	c.AddNulls(int(n))
	return &metapb.StripeFieldDescriptor{
		Field: c.Descriptor(),
		Encodings: []*metapb.DataEncoding{
			{Kind: &metapb.DataEncoding_Native{Native: &metapb.NativeDataEncoding{}}},
		},
	}
}
