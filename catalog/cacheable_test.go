package catalog_test

import (
	"testing"

	"github.com/shardcat/shardcat/catalog"
)

func TestOnlyFilesOfUniqueNamesAreCacheable(t *testing.T) {
	const id = "123e4567-e89b-12d3-a456-426614174000"
	const folder = "s3://b/warehouse/default/t/metadata/"
	for url, want := range map[string]bool{
		folder + "00003-" + id + ".metadata.json":                 true,
		folder + "00003-" + id + ".gz.metadata.json":              true,
		folder + "00003-" + id + ".metadata.json.gz":              true,
		folder + "snap-1234567890123456789-0-" + id + ".avro":     true,
		folder + id + "-m0.avro":                                  true,
		folder + id + "-m12.avro":                                 true,
		"s3://b/vault/t/0123456789abcdef.amudai.shard":            true,
		folder + "v3.metadata.json":                               false, // of a Hadoop table
		folder + "00003.metadata.json":                            false,
		folder + "snap-1234567890123456789.avro":                  false,
		"s3://b/" + id + "/metadata/v3.metadata.json":             false, // the UUID of its folder
		"s3://b/" + id + "/metadata/manifest.avro":                false,
		"s3://b/vault/" + id + "/_jobs/" + id + ".json":           false, // changes
		"s3://b/vault/" + id + "/_owner.json":                     false,
		folder + id + "-m0.avro.json":                             false,
		"s3://b/warehouse/default/t/metadata/version-hint.text":   false,
		"s3://b/vault/" + id + "/_gc/" + id + ".avro/record.json": false,
	} {
		if got := catalog.Cacheable(url); got != want {
			t.Errorf("Cacheable(%q) = %v, want %v", url, got, want)
		}
	}
}
