package catalog

import (
	"context"
	"slices"
	"testing"

	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/inspect"
)

// The forms of fields that an ingestion requests are those of its shards.
func TestIngestWritesForms(t *testing.T) {
	ctx, g := context.Background(), newGround(t)
	tbl := g.create(g.open(nil, nil))
	in := ingest(t, tbl, IngestOptions{
		OpaqueDictionaries: []string{"tags.item"}, Encodings: map[string][]shardfmt.Profile{"id": {shardfmt.Plain}},
	}, rows(0, 600))
	shard, err := inspect.Shard(ctx, tbl.cat.client, in.Shards[0], inspect.Options{Detail: inspect.Encodings})
	if err != nil {
		t.Fatal(err)
	}
	if id := shard.Fields["id"].Stripes[0]; len(id.Encodings) != 2 {
		t.Errorf("id has %d encodings", len(id.Encodings))
	}
	item := shard.Fields["tags.item"].Stripes[0].Encodings[0]
	if !slices.ContainsFunc(item.Buffers, func(b inspect.Buffer) bool { return b.Kind == "OPAQUE_DICTIONARY" }) {
		t.Errorf("the items of tags have no opaque dictionary: %v", item)
	}
}
