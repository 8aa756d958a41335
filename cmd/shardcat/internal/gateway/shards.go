package gateway

import (
	"context"

	"github.com/shardcat/shardcat/cmd/shardcat/internal/gateway/view"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/vparquet"
)

// Shards shows shards as the Parquet files of package vparquet. All files share a cache of pages; cacheBytes bounds it, and maxMemory what a
// request may take.
func Shards(cacheBytes, maxMemory int64) view.OpenShard {
	pages := vparquet.NewCache(cacheBytes)
	return func(ctx context.Context, shard *shardfmt.Shard, ids []int, types func(int) string) (view.DataFile, error) {
		f, err := vparquet.Open(ctx, shard, vparquet.Options{FieldIDs: ids, Types: types, Cache: pages, MaxMemory: maxMemory})
		if err != nil {
			return nil, err
		}
		return &shardFile{f, int64(len(shard.Stripes())+1) * int64(len(ids)) * fieldMemory}, nil
	}
}

// fieldMemory is about what an opened shard keeps of the metadata of a field of a stripe.
const fieldMemory = 512

// shardFile is the Parquet file of a shard together with the shard, which stays open as long as it is used.
type shardFile struct {
	*vparquet.File
	metadata int64
}

// Memory implements view.Object.
func (f *shardFile) Memory() int64 { return f.File.Memory() + f.metadata }
