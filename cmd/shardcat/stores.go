package main

import (
	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt"
)

// storeFlags say how object stores are read.
type storeFlags struct {
	cacheDir    string
	cacheMemory int64
	cacheDisk   int64
	hedge       bool
	retry       retryFlags
}

func (s *storeFlags) add(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVar(&s.cacheDir, "cache-dir", "", "folder for a cache of what was read of shards (env SHARDCAT_CACHE_DIR); it may be shared and deleted at any time")
	f.Int64Var(&s.cacheDisk, "cache-disk", blobio.DefaultDiskCache, "most bytes kept in --cache-dir")
	f.Int64Var(&s.cacheMemory, "cache-memory", 0, "most bytes of what was read of shards kept in memory")
	f.BoolVar(&s.hedge, "hedge", false, "ask a second time for ranged reads that take longer than 95 % of their likes; at most one in twenty")
	s.retry.add(root)
}

// open makes the Client of a run, which reports each wait to notify.
func (s *storeFlags) open(notify func(blobio.Wait), unsafeWrites bool) (*blobio.Client, error) {
	policy, err := s.retry.policy(notify)
	if err != nil {
		return nil, err
	}
	options := []blobio.Option{blobio.WithRetry(policy), blobio.WithCache(blobio.CacheOptions{
		Memory: s.cacheMemory, Dir: s.cacheDir, Disk: s.cacheDisk, Cacheable: shardfmt.Cacheable})}
	if unsafeWrites {
		options = append(options, blobio.WithUnconditionalWrites())
	}
	if s.hedge {
		options = append(options, blobio.WithHedging())
	}
	return blobio.NewClient(options...), nil
}
