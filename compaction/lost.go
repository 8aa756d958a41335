package compaction

import (
	"context"
	"errors"
	"fmt"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/nocache"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// isDamage reports whether an error may be one of what the store holds: corruption, or an object that does not exist.
func isDamage(err error) bool {
	return (errors.Is(err, corrupt.ErrCorrupt) || errors.Is(err, blobio.ErrNotFound)) &&
		!errors.Is(err, ErrContent) && !errors.Is(err, ErrHalted) && !errors.Is(err, catalog.ErrUnsafe)
}

// lostRoot is err, as corruption if it reports that the root of a live shard is missing, which the store then denies twice more: that halts a table as a damaged
// root does.
func lostRoot(ctx context.Context, t *catalog.Table, err error) error {
	missing := (*blobio.Error)(nil)
	if !errors.Is(err, blobio.ErrNotFound) || !errors.As(err, &missing) || errors.Is(err, corrupt.ErrCorrupt) || t.Refresh(ctx) != nil {
		return err
	}
	for e, entryErr := range t.Entries(ctx, catalog.At{}) {
		if entryErr != nil {
			return err
		}
		if e.Path != missing.URL {
			continue
		}
		for range nocache.Reads - 1 {
			if _, statErr := t.Catalog().Client().Uncached().Stat(ctx, e.Path); !errors.Is(statErr, blobio.ErrNotFound) {
				return err
			}
		}
		return fmt.Errorf("%w: the root of a live shard is missing: %w", corrupt.ErrCorrupt, err)
	}
	return err
}
