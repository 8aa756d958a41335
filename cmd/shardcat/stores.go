package main

import (
	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
)

// storeFlags are those of access to object stores.
type storeFlags struct {
	cacheDir    string
	cacheMemory int64
	cacheDisk   int64
	hedge       bool
	retry       retryFlags
}

func (s *storeFlags) add(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVar(&s.cacheDir, "cache-dir", "", "folder of the read cache; may be shared and deleted at any time (env SHARDCAT_CACHE_DIR)")
	sizeVar(f, &s.cacheDisk, "cache-disk", blobio.DefaultDiskCache, "maximum size of --cache-dir")
	sizeVar(f, &s.cacheMemory, "cache-memory", 0, "size of the in-memory read cache")
	f.BoolVar(&s.hedge, "hedge", false, "hedge ranged reads slower than the 95th percentile; at most 5 % of requests")
	s.retry.add(root)
}

// open makes the Client of a run, which reports each wait to notify.
func (s *storeFlags) open(notify func(blobio.Wait), unsafeWrites bool, stores *blobio.Stores) (*blobio.Client, error) {
	policy, err := s.retry.policy(notify)
	if err != nil {
		return nil, err
	}
	return blobio.NewClient(blobio.ClientOptions{Retry: policy, Stores: stores, UnconditionalWrites: unsafeWrites, Hedging: s.hedge,
		Cache: blobio.CacheOptions{Memory: s.cacheMemory, Dir: s.cacheDir, Disk: s.cacheDisk, Cacheable: catalog.Cacheable}}), nil
}
