package main

import (
	"path"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/blobio"
)

// storeFlags say how object stores are read.
type storeFlags struct {
	cacheDir    string
	cacheMemory int64
	cacheDisk   int64
	hedge       bool
}

func (s *storeFlags) add(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVar(&s.cacheDir, "cache-dir", "", "folder for a cache of what was read of shards (env SHARDCAT_CACHE_DIR); it may be shared and deleted at any time")
	f.Int64Var(&s.cacheDisk, "cache-disk", blobio.DefaultDiskCache, "most bytes kept in --cache-dir")
	f.Int64Var(&s.cacheMemory, "cache-memory", 0, "most bytes of what was read of shards kept in memory")
	f.BoolVar(&s.hedge, "hedge", false, "ask a second time for ranged reads that take longer than 95 % of their likes; at most one in twenty")
}

// open makes the Client of a run.
func (s *storeFlags) open() *blobio.Client {
	options := []blobio.Option{blobio.WithCache(blobio.CacheOptions{
		Memory: s.cacheMemory, Dir: s.cacheDir, Disk: s.cacheDisk, Cacheable: isWrittenOnce})}
	if s.hedge {
		options = append(options, blobio.WithHedging())
	}
	return blobio.NewClient(options...)
}

// randomName is found in names of objects that are never used again: 64 random bits in hex, or a UUID.
var randomName = regexp.MustCompile(`[0-9a-f]{16}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-`)

// shardObject ends the names of the objects of shards.
var shardObject = regexp.MustCompile(`\.amudai\.[a-z]+$`)

// isWrittenOnce tells which objects a cache may keep. A root under a name that a person chose may be deleted and
// written anew; job records and leases are no parts of shards.
func isWrittenOnce(url string) bool {
	return shardObject.MatchString(url) && (randomName.MatchString(path.Base(url)) || randomName.MatchString(path.Base(path.Dir(url))))
}
