// Package oneobject is a store for fuzz targets, whose input is the content of any object.
package oneobject

import (
	"context"
	"slices"

	"github.com/shardcat/shardcat/blobio"
)

// Store is a store whose every object has the same bytes.
type Store []byte

func (o Store) info(url string) blobio.Info { return blobio.Info{URL: url, Size: int64(len(o))} }

// ReadRange reads len(dst) bytes from off on.
func (o Store) ReadRange(_ context.Context, url string, off int64, dst []byte) (blobio.Info, error) {
	if off < 0 || off > int64(len(o)) || int64(len(dst)) > int64(len(o))-off {
		return o.info(url), blobio.ErrRange
	}
	copy(dst, o[off:])
	return o.info(url), nil
}

// ReadSuffix reads the last n bytes.
func (o Store) ReadSuffix(_ context.Context, url string, n int64) ([]byte, blobio.Info, error) {
	return slices.Clone(o[max(0, int64(len(o))-n):]), o.info(url), nil
}

// ReadRanges reads several ranges.
func (o Store) ReadRanges(_ context.Context, _ string, ranges []blobio.Range) (out [][]byte, err error) {
	for _, r := range ranges {
		if r.Start < 0 || r.End < r.Start || r.End > int64(len(o)) {
			return nil, blobio.ErrRange
		}
		out = append(out, slices.Clone(o[r.Start:r.End]))
	}
	return out, nil
}
