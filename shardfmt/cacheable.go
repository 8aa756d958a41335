package shardfmt

import (
	"path"
	"regexp"
	"sync"
)

// randomName is found in names of objects that are never used again: 64 random bits in hex, or a UUID.
var randomName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[0-9a-f]{16}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-`)
})

// shardObject ends the names of the objects of shards.
var shardObject = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\.amudai\.[a-z]+$`) })

// Cacheable reports whether the object at url may be kept in a cache (blobio.CacheOptions.Cacheable): it is an object of
// a shard whose name is never used again. A root under a name that a person chose may be deleted and rewritten; job
// records and leases are not parts of shards.
func Cacheable(url string) bool {
	return shardObject().MatchString(url) && (randomName().MatchString(path.Base(url)) || randomName().MatchString(path.Base(path.Dir(url))))
}
