package catalog

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// TestPlansSkipManifestsOfOtherTimes: manifests that are merged are clustered by the time of their records, whatever the
// order of the commits, so that a plan for one day reads few of them.
func TestPlansSkipManifestsOfOtherTimes(t *testing.T) {
	const days, commits, each = 40, 21, 40
	c, _ := openLocal(t)
	columns, err := schema.Parse("ts: DateTime")
	if err != nil {
		t.Fatal(err)
	}
	tbl, err := c.Create(t.Context(), tableName, CreateOptions{
		Schema: columns, Partition: []string{"day(ts)"}, CreateNamespace: true,
		Properties: map[string]string{"commit.manifest.min-count-to-merge": "20", "commit.manifest.target-size-bytes": "16384"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for n := range commits {
		appendDays(t, tbl, n, each, days)
	}
	where, err := filter.Parse("ts >= '1970-01-11T00:00:00Z' AND ts < '1970-01-12T00:00:00Z'")
	if err != nil {
		t.Fatal(err)
	}
	p, err := tbl.Plan(t.Context(), ScanOptions{Where: where})
	if err != nil {
		t.Fatal(err)
	}
	if p.Total != commits*each || len(p.Shards) != commits*each/days {
		t.Errorf("%d of %d shards", len(p.Shards), p.Total)
	}
	// Read are the manifest of the last commit, which merged the others, and those of the merged ones that hold this day.
	if p.Manifests > 3 || p.ManifestsPruned < 4 {
		t.Errorf("%d manifests were read, %d pruned", p.Manifests, p.ManifestsPruned)
	}
}

// appendDays commits entries of all days at once.
func appendDays(t *testing.T, tbl *Table, commit, each, days int) {
	t.Helper()
	j, _, err := tbl.BeginJob(t.Context(), JobAppend, "", nil, func(string) []string { return []string{tbl.VaultFolder() + "*"} })
	if err != nil {
		t.Fatal(err)
	}
	var entries []*manifest.Entry
	for i := range each {
		day := time.Unix(0, 0).UTC().AddDate(0, 0, i%days)
		created := literal.Ticks(day)
		bound := binary.LittleEndian.AppendUint64(nil, uint64(day.UnixMicro()))
		e := &manifest.Entry{
			Path:   fmt.Sprintf("%sfake-%04d-%04d.amudai.shard", tbl.VaultFolder(), commit, i),
			Format: manifest.Format, RootBytes: 1000, Records: 10,
			Private: manifest.Private{Created: manifest.CreationRange{First: created, Last: created}, Stripes: 1, StoredBytes: 1000, Objects: 2},
			Columns: map[int]manifest.Column{1: {Bytes: 80, Values: 10, NaNs: manifest.Unknown, Lower: bound, Upper: bound}},
		}
		if e.Partition, err = manifest.PartitionOf(e, tbl.ice.Spec(), tbl.schema.Iceberg); err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	if _, err := j.Append(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
}
