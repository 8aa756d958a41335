package catalog

import (
	"context"
	"maps"
	"slices"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/check"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/urlresolve"
)

// describe reads the metadata of a shard, compares it with the entry and looks for the objects it refers to. intact
// means that reading the shard makes sense.
func (v *tableVerifier) describe(ctx context.Context, client *blobio.Client, e *manifest.Entry, allow []urlresolve.Prefix, sizes *check.Sizes) (intact bool, err error) {
	size, err := sizes.Of(ctx, client, e.Path)
	if err != nil {
		return false, err
	}
	if size < 0 {
		v.found(faultPlace{faultLost, e.Path, e.Path}, -1, "the root is missing")
		return false, nil
	}
	if size != e.RootBytes {
		v.found(faultPlace{faultEntry, e.Path, e.Path}, -1, "the root has %d bytes, its entry says %d", size, e.RootBytes)
	}
	is, objects, err := v.table.describeShard(ctx, client, e.Path, size, allow)
	if err != nil {
		return false, v.unreadable(err, faultPlace{faultShard, e.Path, e.Path})
	}
	for _, what := range check.EntryFaults(e, is) {
		v.found(faultPlace{faultEntry, e.Path, e.Path}, -1, "%s", what)
	}
	intact = true
	for _, url := range slices.Sorted(maps.Keys(objects)) {
		size, err := sizes.Of(ctx, client, url)
		switch {
		case err != nil:
			return false, err
		case size < 0:
			v.found(faultPlace{faultLost, e.Path, url}, -1, "an object that the shard refers to is missing")
			intact = false
		case size < objects[url]:
			v.found(faultPlace{faultLost, e.Path, url}, size, "the object ends here, but the shard refers to bytes up to %d", objects[url])
			intact = false
		}
	}
	v.count(func(out *VerifyResult) { out.Objects += 1 + len(objects) })
	return intact, nil
}

// describeShard makes the entry that a shard should have, and lists its objects with the least size of each.
func (t *Table) describeShard(ctx context.Context, client *blobio.Client, path string, size int64, allow []urlresolve.Prefix) (*manifest.Entry, map[string]int64, error) {
	shard, err := shardfmt.Open(ctx, client, path, shardfmt.OpenOptions{Size: size, Allow: allow})
	if err != nil {
		return nil, nil, err
	}
	defer shard.Close()
	ids, err := t.schema.MapShard(ctx, shard)
	if err != nil {
		return nil, nil, err
	}
	return manifest.Describe(ctx, shard, ids)
}
