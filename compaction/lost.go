package compaction

import (
	"context"
	"errors"
	"fmt"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// damageReads is how often something is read before it counts as damaged or lost: a bit that flips on the way to the reader, an object that a store denies
// once, or a cache that has a damaged copy, must not halt a table until somebody looks.
const damageReads = 3

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
		for range damageReads - 1 {
			if _, statErr := t.Catalog().Client().Uncached().Stat(ctx, e.Path); !errors.Is(statErr, blobio.ErrNotFound) {
				return err
			}
		}
		return fmt.Errorf("%w: the root of a live shard is missing: %w", corrupt.ErrCorrupt, err)
	}
	return err
}
