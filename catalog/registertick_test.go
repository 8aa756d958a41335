package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
)

// TestRegisterLastTicks: a shard whose last row lies in the last tick of a unit lies in the partition of that unit, as if it had been
// ingested; one with a row of the next unit is refused.
func TestRegisterLastTicks(t *testing.T) {
	ctx := context.Background()
	const second, day = 10_000_000, 864_000_000_000
	for i, c := range []struct {
		partition   string
		first, last int64
		refused     bool
	}{
		{"hour(ts)", year2024 + 23*3600*second, year2024 + day - 1, false},
		{"hour(ts)", year2024 + 23*3600*second, year2024 + day, true},
		{"day(ts)", year2024, year2024 + day - 1, false},
		{"day(ts)", year2024, year2024 + day, true},
		{"month(ts)", year2024, year2024 + 31*day - 1, false},
		{"month(ts)", year2024, year2024 + 31*day, true},
		{"year(ts)", year2024, year2024 + 366*day - 1, false},
		{"year(ts)", year2024, year2024 + 366*day, true},
		{"ts", year2024 + 10, year2024 + 19, false},
		{"ts", year2024 + 10, year2024 + 20, true},
		{"bucket(5, ts)", year2024 + 11, year2024 + 19, false},
		{"bucket(5, ts)", year2024 + 10, year2024 + 2*day, true},
	} {
		g := newGround(t)
		cat := g.open(nil, nil)
		batch := fmt.Sprintf(`[{"id":1,"ts":%d,"small":1,"tags":null},{"id":2,"ts":%d,"small":1,"tags":null}]`, c.first, c.last)
		var partitions []string
		for _, name := range []string{"registered", "ingested"} {
			tbl, err := cat.Create(ctx, Name{"default", name}, CreateOptions{Schema: people(), CreateNamespace: true, Partition: []string{c.partition}})
			if err != nil {
				t.Fatal(err)
			}
			if name == "ingested" {
				ingest(t, tbl, IngestOptions{}, batch)
			} else {
				url := fmt.Sprintf("mem://%s/elsewhere/%d.amudai.shard", g.bucket, i)
				writeShard(t, cat, url, people(), shardfmt.WriterOptions{}, batch)
				if _, err := tbl.Register(ctx, []string{url}, RegisterOptions{}); (err != nil) != c.refused || err != nil && !errors.Is(err, manifest.ErrPartition) {
					t.Errorf("%s: %v", c.partition, err)
				}
			}
			if !c.refused {
				partitions = append(partitions, partitionsOf(t, tbl)...)
				if got, _ := scanIDs(t, tbl, ScanOptions{Where: where(t, "ts IS NOT NULL")}); !slices.Equal(slices.Sorted(slices.Values(got)), []int64{1, 2}) {
					t.Errorf("%s: rows %v", c.partition, got)
				}
			}
		}
		if !c.refused && (len(partitions) != 2 || partitions[0] != partitions[1]) {
			t.Errorf("%s: partitions %v", c.partition, partitions)
		}
	}
}
