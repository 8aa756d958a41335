package compaction

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/rowhash"
	"github.com/shardcat/shardcat/manifest"
)

// ErrContent: a merged shard does not hold the rows of its inputs.
var ErrContent = errors.New("a merge has changed rows")

// checkContent reads the inputs and what was written of them and compares their rows: those of a concatenation in order, those of a
// rebuild, which may part them among partitions, in any.
func checkContent(ctx context.Context, t *catalog.Table, g *Group, written []*manifest.Entry) error {
	hashes := contentHashes
	if g.Mode == Rebuild {
		hashes = rowSums
	}
	before, err := hashes(ctx, t, g.entries())
	if err != nil {
		return err
	}
	after, err := hashes(ctx, t, written)
	if err != nil {
		return err
	}
	if !slices.Equal(before, after) {
		return fmt.Errorf("%w: the %d shards written from %s and others differ in values from their %d inputs", ErrContent, len(written), g.Inputs.Paths()[0], g.Inputs.Len())
	}
	return nil
}

// rowSums are the number of rows and the sums of both halves of their XXH3-128: the same for the same rows in any order.
func rowSums(ctx context.Context, t *catalog.Table, shards []*manifest.Entry) ([]uint64, error) {
	plan, err := t.PlanOf(shards, catalog.ScanOptions{ReuseBatches: true})
	if err != nil {
		return nil, err
	}
	var rows, low, high uint64
	var written rowhash.Rows
	for b, err := range plan.Run(ctx, nil) {
		if err != nil {
			return nil, err
		}
		err = written.Hash(b, func(_ int, sum xxh3.Uint128) { rows, low, high = rows+1, low+sum.Lo, high+sum.Hi })
		if err != nil {
			return nil, err
		}
	}
	return []uint64{rows, low, high}, nil
}

// contentHashes are, column by column, the XXH3 of the values of all rows in order, whatever the batches. The number
// of rows comes first.
func contentHashes(ctx context.Context, t *catalog.Table, shards []*manifest.Entry) ([]uint64, error) {
	plan, err := t.PlanOf(shards, catalog.ScanOptions{Ordered: true, ReuseBatches: true})
	if err != nil {
		return nil, err
	}
	columns := make([]xxh3.Hasher, plan.Schema().NumFields())
	rows := uint64(0)
	for b, err := range plan.Run(ctx, nil) {
		if err != nil {
			return nil, err
		}
		rows += uint64(b.NumRows())
		for c, a := range b.Columns() {
			if err := hashColumn(&columns[c], a); err != nil {
				return nil, err
			}
		}
	}
	out := []uint64{rows}
	for i := range columns {
		out = append(out, columns[i].Sum64())
	}
	return out, nil
}

func hashColumn(h *xxh3.Hasher, a arrow.Array) error {
	var value []byte
	for i := range a.Len() {
		var err error
		if value, err = rowhash.Append(value[:0], a, i); err != nil {
			return err
		}
		h.Write(value)
	}
	return nil
}
