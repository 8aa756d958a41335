package shardfmt_test

import (
	"testing"

	"github.com/shardcat/shardcat/shardfmt"
)

func TestOnlyObjectsOfUniqueNamesAreCacheable(t *testing.T) {
	const random = "0123456789abcdef"
	for url, want := range map[string]bool{
		"s3://b/vault/t/" + random + ".amudai.shard":               true,
		"s3://b/vault/t/data/" + random + "/0001.amudai.stripe":    true,
		"s3://b/data/123e4567-e89b-12d3-a456-4266/1.amudai.stripe": true,
		"s3://b/logs.amudai.shard":                                 false, // may be rewritten
		"s3://b/vault/t/jobs/" + random + ".json":                  false, // changes
		"s3://b/" + random + "/2024/logs.amudai.shard":             false, // the folder of its folder
	} {
		if got := shardfmt.Cacheable(url); got != want {
			t.Errorf("Cacheable(%q) = %v, want %v", url, got, want)
		}
	}
}
