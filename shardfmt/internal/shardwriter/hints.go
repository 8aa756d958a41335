package shardwriter

import (
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/stats"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// hints are what the extension labels of a schema state about the values: of the numbers below an embedding vector, of sketches as bytes.
func hints(s *schema.Schema) map[uint32]encode.Hint {
	out := map[uint32]encode.Hint{}
	var visit func(n *schema.Node, vector bool)
	visit = func(n *schema.Node, vector bool) {
		vector = vector || n.Label() == schema.LabelEmbedding
		switch {
		case vector && (n.Basic == schema.Float32 || n.Basic == schema.Float64):
			out[n.ID] = encode.Vector
		case n.Basic == schema.Binary && (n.Label() == schema.LabelHLL || n.Label() == schema.LabelTDigest):
			out[n.ID] = encode.Sketch
		}
		for _, c := range n.Children {
			visit(c, vector)
		}
	}
	for _, n := range s.Fields {
		visit(n, false)
	}
	return out
}

// hintedStats requests a Bloom filter of addresses: they are looked up one by one, and a range states nothing of them.
func hintedStats(n *schema.Node, so *stats.Options) {
	if n.Label() == schema.LabelIP && len(n.Children) == 0 && n.Basic != schema.Unit && n.Basic != schema.Boolean && !so.Plain {
		so.Bloom = stats.BloomAlways
	}
}
