package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/urlresolve"
)

// objectSizes remembers the sizes of objects that several shards share; -1 is missing.
type objectSizes struct {
	mu    sync.Mutex
	known map[string]int64
}

func (s *objectSizes) of(ctx context.Context, client *blobio.Client, url string) (int64, error) {
	s.mu.Lock()
	size, ok := s.known[url]
	s.mu.Unlock()
	if ok {
		return size, nil
	}
	info, err := client.Stat(ctx, url)
	switch {
	case errors.Is(err, blobio.ErrNotFound):
		info.Size = -1
	case err != nil:
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[url] = info.Size
	return info.Size, nil
}

// describe reads the metadata of a shard, compares it with the entry and looks for the objects it refers to. intact
// means that reading the shard makes sense.
func (v *tableVerifier) describe(ctx context.Context, client *blobio.Client, e *manifest.Entry, allow []urlresolve.Prefix, sizes *objectSizes) (intact bool, err error) {
	size, err := sizes.of(ctx, client, e.Path)
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
	for _, what := range differences(e, is) {
		v.found(faultPlace{faultEntry, e.Path, e.Path}, -1, "%s", what)
	}
	intact = true
	for _, url := range slices.Sorted(maps.Keys(objects)) {
		size, err := sizes.of(ctx, client, url)
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

// differences lists where an entry states other things than its shard.
func differences(e, is *manifest.Entry) (out []string) {
	number := func(what string, entry, shard int64) {
		if entry != shard {
			out = append(out, fmt.Sprintf("its entry says %d %s, the shard %d", entry, what, shard))
		}
	}
	number("live records", e.Records, is.Records)
	number("deleted records", e.Deleted, is.Deleted)
	number("stripes", e.Stripes, is.Stripes)
	if e.Created != is.Created {
		out = append(out, fmt.Sprintf("its entry says that the records were created in %v, the shard %v", e.Created, is.Created))
	}
	for _, id := range slices.Sorted(maps.Keys(e.Columns)) {
		has, ok := is.Columns[id]
		if !ok {
			continue // of a column that was dropped since
		}
		out = append(out, columnDifferences(id, e.Columns[id], has)...)
	}
	return out
}

// columnDifferences compares what readers trust: counts that are known on both sides, and bounds.
func columnDifferences(id int, entry, shard manifest.Column) (out []string) {
	for _, c := range []struct {
		what         string
		entry, shard int64
	}{{"values", entry.Values, shard.Values}, {"nulls", entry.Nulls, shard.Nulls}, {"NaNs", entry.NaNs, shard.NaNs}} {
		if c.entry != c.shard && c.entry != manifest.Unknown {
			out = append(out, fmt.Sprintf("field %d: its entry says %d %s, the shard %d", id, c.entry, c.what, c.shard))
		}
	}
	if entry.Lower != nil && !bytes.Equal(entry.Lower, shard.Lower) {
		out = append(out, fmt.Sprintf("field %d: its entry has the lower bound %x, the shard %x", id, entry.Lower, shard.Lower))
	}
	if entry.Upper != nil && !bytes.Equal(entry.Upper, shard.Upper) {
		out = append(out, fmt.Sprintf("field %d: its entry has the upper bound %x, the shard %x", id, entry.Upper, shard.Upper))
	}
	return out
}
