package catalog

import (
	"path"
	"regexp"
	"sync"

	"github.com/shardcat/shardcat/shardfmt"
)

// metadataObject ends the names of files of metadata that are never written again: those with a UUID, as iceberg-go, Java's Iceberg and
// PyIceberg name them. Files of Hadoop tables, v1.metadata.json, are not among them.
var metadataObject = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(-m[0-9]+)?(\.avro|(\.gz|\.zstd)?\.metadata\.json(\.gz|\.zstd)?)$`)
})

// Cacheable reports whether the object at url may be kept in a cache (blobio.CacheOptions.Cacheable): an object of a shard, or a
// metadata file, manifest list or manifest, whose name is never used again.
func Cacheable(url string) bool {
	return shardfmt.Cacheable(url) || metadataObject().MatchString(path.Base(url))
}
