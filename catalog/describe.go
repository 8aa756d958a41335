package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/inspect"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// describeOwn makes the entry of a shard that was just written to the table's folder.
func (t *Table) describeOwn(ctx context.Context, url string, size int64) (*manifest.Entry, error) {
	allow, err := t.Allowed()
	if err != nil {
		return nil, err
	}
	shard, err := shardfmt.Open(ctx, t.cat.client, url, shardfmt.OpenOptions{Size: size, Allow: allow})
	if err != nil {
		return nil, fmt.Errorf("reading back: %w", err)
	}
	defer shard.Close()
	ids, err := t.schema.MapShard(ctx, shard)
	if err != nil {
		return nil, fmt.Errorf("reading back: %w", err)
	}
	e, _, err := manifest.Describe(ctx, shard, ids)
	return e, err
}

// DescribeRoot makes the entry of a root in the table's folder from the bytes that were read back of it. It asks
// the store for nothing. Partition and spec are the caller's to set.
func (t *Table) DescribeRoot(ctx context.Context, url string, root []byte) (*manifest.Entry, error) {
	e, _, err := t.describeBytes(ctx, url, root)
	return e, err
}

// describeBytes makes the entry of a root in memory, and lists the objects that it refers to with the least size of each.
func (t *Table) describeBytes(ctx context.Context, url string, root []byte) (*manifest.Entry, map[string]int64, error) {
	allow, err := t.Allowed()
	if err != nil {
		return nil, nil, err
	}
	opened, err := shardfmt.Open(ctx, rootBytes(root), url, shardfmt.OpenOptions{Size: int64(len(root)), Allow: allow})
	if err != nil {
		return nil, nil, err
	}
	ids, err := t.schema.MapShard(ctx, opened)
	if err != nil {
		return nil, nil, err
	}
	return manifest.Describe(ctx, opened, ids)
}

// DescribeMerged is DescribeRoot of a root that refers to objects which others wrote. inputs are the live shards whose stripes it has, all of them in
// that order, or nil: their entries may lead to term filters that were joined already. Each of them is requested once, by a
// HEAD or by listing the table's objects: one that is missing or too short is corrupt data, before the root takes the place of
// shards that can be read.
func (t *Table) DescribeMerged(ctx context.Context, url string, root []byte, inputs []string) (*manifest.Entry, error) {
	e, objects, err := t.describeBytes(ctx, url, root)
	if err == nil && e.Terms != "" && len(inputs) > 0 {
		err = t.inheritTerms(ctx, e, inputs)
	}
	if err != nil {
		return nil, err
	}
	return e, t.checkObjects(ctx, objects)
}

// Up to fewObjectsToCheck objects are requested one by one. More are looked for in a listing, of up to listPerObject objects for
// each: a listing of 1,000 is one request, but costs as much as some ten HEADs.
const fewObjectsToCheck, listPerObject = 16, 100

// checkObjects makes sure that objects are there and have the sizes given at least.
func (t *Table) checkObjects(ctx context.Context, objects map[string]int64) error {
	left := maps.Clone(objects)
	if len(left) > fewObjectsToCheck {
		listed := 0
		for info, err := range t.cat.client.List(ctx, t.VaultFolder()+"data/") {
			if err != nil {
				return err
			}
			if least, ok := left[info.URL]; ok && info.Size >= least {
				delete(left, info.URL)
			}
			if listed++; len(left) == 0 || listed > listPerObject*len(objects) {
				break
			}
		}
	}
	names := slices.Sorted(maps.Keys(left)) // a listing may lag behind: what it lacks is requested
	return t.cat.client.Each(ctx, len(names), func(ctx context.Context, client *blobio.Client, i int) error {
		info, err := client.Stat(ctx, names[i])
		switch {
		case errors.Is(err, blobio.ErrNotFound):
			return corrupt.Locate(corrupt.At(-1, "the object is missing; shardcat verify %s names its shard, repair fixes the table", t.name), names[i], 0)
		case err != nil:
			return err
		case info.Size < left[names[i]]:
			return corrupt.Locate(corrupt.At(info.Size, "the object ends here, but is referenced up to byte %d; shardcat verify %s names its shard", left[names[i]], t.name), names[i], 0)
		}
		return nil
	})
}

// rootBytes serves a root from memory.
type rootBytes []byte

func (b rootBytes) ReadRange(_ context.Context, url string, off int64, dst []byte) (blobio.Info, error) {
	if off < 0 || off > int64(len(b)) || int64(len(dst)) > int64(len(b))-off {
		return blobio.Info{}, blobio.NewError("read", url, blobio.ErrRange, nil)
	}
	copy(dst, b[off:])
	return blobio.Info{URL: url, Size: int64(len(b))}, nil
}

func (b rootBytes) ReadSuffix(_ context.Context, url string, n int64) ([]byte, blobio.Info, error) {
	n = min(n, int64(len(b)))
	return b[int64(len(b))-n:], blobio.Info{URL: url, Size: int64(len(b))}, nil
}

func (b rootBytes) ReadRanges(ctx context.Context, url string, ranges []blobio.Range) ([][]byte, error) {
	out := make([][]byte, len(ranges))
	for i, r := range ranges {
		out[i] = make([]byte, r.End-r.Start)
		if _, err := b.ReadRange(ctx, url, r.Start, out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// PartitionSpecID is the spec by which rows are written.
func (t *Table) PartitionSpecID() int { return t.ice.Metadata().DefaultPartitionSpec() }

// ShardSchema opens a shard of the table, whose root has size bytes, and gives its schema with the field ids of its nodes.
func (t *Table) ShardSchema(ctx context.Context, root string, size int64) (*schema.Schema, []int, error) {
	shard, err := t.openShard(ctx, t.cat.client, root, size)
	if err != nil {
		return nil, nil, err
	}
	defer shard.Close()
	s, err := shard.Schema(ctx)
	if err != nil {
		return nil, nil, err
	}
	ids, err := t.schema.MapShard(ctx, shard)
	return s, ids, err
}

// ShardFieldIDs opens a shard of the table, whose root has size bytes, and gives the field ids of its nodes.
func (t *Table) ShardFieldIDs(ctx context.Context, root string, size int64) ([]int, error) {
	shard, err := t.openShard(ctx, t.cat.client, root, size)
	if err != nil {
		return nil, err
	}
	defer shard.Close()
	return t.schema.MapShard(ctx, shard)
}

// succession is how a live shard is given a new root over the same stripes.
func (t *Table) succession(ctx context.Context, in *manifest.Entry) (input merge.Input, o merge.Options, err error) {
	allow, err := t.Allowed()
	if err != nil {
		return input, o, err
	}
	input = merge.Input{URL: in.Path, Size: in.RootBytes}
	if in.Flags.Has(manifest.Foreign) {
		input.FieldIDs, err = t.ShardFieldIDs(ctx, in.Path, in.RootBytes)
	}
	return input, merge.Options{
		AllowExternal: !t.owns(in.Path) || in.Flags.Has(manifest.Adopted), Policy: urlresolve.Policy{Allow: allow},
		// The shard is there; an object more must not make it unchangeable.
		Limits: merge.Limits{Objects: -1, Stripes: -1, RootBytes: -1, PropertyBytes: -1},
	}, err
}

// successor is the entry of a shard's new root, in the place of in.
func (t *Table) successor(ctx context.Context, in *manifest.Entry, done *merge.Result) (*manifest.Entry, error) {
	e, err := t.DescribeRoot(ctx, done.URL, done.Root)
	if err != nil {
		return nil, err
	}
	e.SpecID, e.Partition, e.SortOrderID = in.SpecID, in.Partition, in.SortOrderID
	e.Flags |= in.Flags & (manifest.Adopted | manifest.StandardProperties)
	return e, nil
}

// Inspect describes a shard of the table, with the references that the table allows. maxMemory is the most bytes of a buffer, and
// of the root, that are read; 1 GiB if 0.
func (t *Table) Inspect(ctx context.Context, e *manifest.Entry, detail inspect.Detail, maxMemory int64) (*inspect.Inspection, error) {
	allow, err := t.Allowed()
	if err != nil {
		return nil, err
	}
	if maxMemory > 0 && e.RootBytes > maxMemory {
		return nil, fmt.Errorf("%s: %w: a root of %d bytes, more than the limit of %d", e.Path, corrupt.ErrUnsupported, e.RootBytes, maxMemory)
	}
	return inspect.Shard(ctx, t.cat.client, e.Path, inspect.Options{
		Size: e.RootBytes, Detail: detail, Policy: urlresolve.Policy{Allow: allow}, MaxMemory: maxMemory,
	})
}
