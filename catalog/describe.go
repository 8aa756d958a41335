package catalog

import (
	"context"
	"fmt"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/meta"
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
	ids, err := t.schema.MapShard(ctx, shard.Root())
	if err != nil {
		return nil, fmt.Errorf("reading back: %w", err)
	}
	return manifest.Describe(ctx, shard.Root(), ids)
}

// DescribeRoot makes the entry of a root in the table's folder from the bytes that were read back of it. It asks
// the store for nothing. Partition and spec are the caller's to set.
func (t *Table) DescribeRoot(ctx context.Context, url string, root []byte) (*manifest.Entry, error) {
	allow, err := t.Allowed()
	if err != nil {
		return nil, err
	}
	opened, err := meta.OpenRoot(ctx, rootBytes(root), url, meta.Options{
		Size: int64(len(root)), Policy: urlresolve.Policy{Allow: allow},
	})
	if err != nil {
		return nil, err
	}
	ids, err := t.schema.MapShard(ctx, opened)
	if err != nil {
		return nil, err
	}
	return manifest.Describe(ctx, opened, ids)
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

// ShardFieldIDs opens a shard of the table, whose root has size bytes, and gives the field ids of its nodes.
func (t *Table) ShardFieldIDs(ctx context.Context, root string, size int64) ([]int, error) {
	shard, err := t.openShard(ctx, t.cat.client, root, size, false)
	if err != nil {
		return nil, err
	}
	defer shard.Close()
	return t.schema.MapShard(ctx, shard.Root())
}
