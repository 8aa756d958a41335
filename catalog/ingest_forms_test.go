package catalog

import (
	"context"
	"slices"
	"testing"

	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/metapb"
)

// The forms of fields that an ingestion asks for are those of its shards.
func TestIngestWritesForms(t *testing.T) {
	ctx, g := context.Background(), newGround(t)
	tbl := g.create(g.open(nil, nil))
	in := ingest(t, tbl, IngestOptions{
		OpaqueDictionaries: []string{"tags.item"}, Encodings: map[string][]shardfmt.Profile{"id": {shardfmt.Plain}},
	}, rows(0, 600))
	shard, err := tbl.openShard(ctx, tbl.cat.client, in.Shards[0], 0, false)
	if err != nil {
		t.Fatal(err)
	}
	if id, _, err := shard.Root().StripeField(ctx, 0, 0); err != nil || len(id.Encodings) != 2 {
		t.Errorf("id has %d encodings, %v", len(id.GetEncodings()), err)
	}
	item, _, err := shard.Root().StripeField(ctx, 0, 4)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(item.Encodings[0].GetNative().GetBuffers(), func(b *metapb.EncodedBuffer) bool {
		return b.Kind == metapb.BufferKind_OPAQUE_DICTIONARY
	}) {
		t.Errorf("the items of tags have no opaque dictionary: %v", item.Encodings[0])
	}
}
