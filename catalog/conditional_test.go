package catalog

import (
	"context"
	"errors"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
)

// overwriting is a store that does not look at the condition of a create.
type overwriting struct{ blobio.Bucket }

func (b overwriting) Create(ctx context.Context, key string, o blobio.CreateOptions) (blobio.Writer, error) {
	if err := b.Bucket.Delete(ctx, key, blobio.DeleteOptions{}); err != nil && !errors.Is(err, blobio.ErrNotFound) {
		return nil, err
	}
	return b.Bucket.Create(ctx, key, o)
}

func TestWritersRefuseAStoreWithoutConditionalCreates(t *testing.T) {
	ctx := context.Background()
	for name, tc := range map[string]struct {
		bucket   blobio.Bucket
		accepted bool
		refused  bool
	}{
		"conditional": {memblob.New(), false, false},
		"overwriting": {overwriting{memblob.New()}, false, true},
		"accepted":    {overwriting{memblob.New()}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := openLocal(t)
			if err := c.client.MountBucket("s3://elsewhere/", tc.bucket); err != nil {
				t.Fatal(err)
			}
			c.vault, c.opts.UnsafeNoConditionalWrites = "s3://elsewhere/vault", tc.accepted
			_, _, err := c.IngestNew(ctx, tableName, source(rows(0, 10)), asNew, IngestOptions{})
			if errors.Is(err, ErrUnsafe) != tc.refused || err != nil && !tc.refused {
				t.Fatalf("the first writer: %v", err)
			}
			for info, err := range c.client.List(ctx, "s3://elsewhere/vault/_doctor/") {
				t.Errorf("left behind: %v, %v", info, err)
			}
			if tc.refused {
				return
			}
			// Later writers go by what the first one found, and make no object to try the store.
			c.opts.UnsafeNoConditionalWrites = false
			tbl, err := c.Load(ctx, tableName)
			if err != nil {
				t.Fatal(err)
			}
			_, err = tbl.Ingest(ctx, source(rows(10, 5)), IngestOptions{})
			if errors.Is(err, ErrUnsafe) != tc.accepted {
				t.Errorf("a later writer: %v", err)
			}
		})
	}
}
