package compaction

import (
	"context"
	"errors"
	"fmt"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// lostRoot is err, as corruption if it reports that the root of a live shard is missing: that halts a table as a damaged root does.
func lostRoot(ctx context.Context, t *catalog.Table, err error) error {
	missing := (*blobio.Error)(nil)
	if !errors.Is(err, blobio.ErrNotFound) || !errors.As(err, &missing) || errors.Is(err, corrupt.ErrCorrupt) || t.Refresh(ctx) != nil {
		return err
	}
	for e, entryErr := range t.Entries(ctx, catalog.At{}) {
		if entryErr != nil {
			return err
		}
		if e.Path == missing.URL {
			return fmt.Errorf("%w: the root of a live shard is missing: %w", corrupt.ErrCorrupt, err)
		}
	}
	return err
}
