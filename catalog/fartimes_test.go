package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/internal/literal"
)

// farTimes are sentinels, ordinary times, and some that microseconds or nanoseconds since 1970 can't express.
var farTimes = []string{
	"0001-01-01T00:00:00Z", "1677-09-21T00:12:43Z", "1969-12-31T23:59:59.9999999Z", "2024-01-01T10:00:00Z", "2024-01-01T10:00:00.0000009Z",
	"2024-01-01T10:59:59.9999999Z", "2262-04-11T23:47:17Z", "9999-12-31T00:00:00Z", "9999-12-31T23:59:59.9999999Z",
}

// farRows makes a row of each time, with its place among them as id.
func farRows(t *testing.T, small int, times ...string) string {
	t.Helper()
	var out []string
	for _, text := range times {
		ticks, _, err := literal.ParseDateTime(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf(`{"id":%d,"ts":%d,"small":%d,"tags":null}`, slices.Index(farTimes, text), ticks, small))
	}
	return "[" + strings.Join(out, ",") + "]"
}

// TestFarTimesInPartitions: whatever a table is partitioned by, and whether its manifests were merged or not, filters find
// each time, a delivery by key replaces or refuses it, and a deletion takes it and no other.
func TestFarTimesInPartitions(t *testing.T) {
	ctx := context.Background()
	for _, partition := range []string{"", "ts", "hour(ts)", "day(ts)", "month(ts)", "year(ts)", "bucket(3, ts)"} {
		for _, merged := range []bool{false, true} {
			if !merged && partition != "ts" && partition != "hour(ts)" {
				continue
			}
			t.Run(fmt.Sprintf("%s merged=%v", partition, merged), func(t *testing.T) {
				o := CreateOptions{Schema: people(), CreateNamespace: true, Properties: map[string]string{"commit.manifest.min-count-to-merge": "1000"}}
				if partition != "" {
					o.Partition = []string{partition}
				}
				if merged {
					o.Properties["commit.manifest.min-count-to-merge"] = "2"
				}
				tbl, err := newGround(t).open(nil, nil).Create(ctx, tableName, o)
				if err != nil {
					t.Fatal(err)
				}
				for i := 0; i < len(farTimes); i += 3 {
					ingest(t, tbl, IngestOptions{}, farRows(t, 1, farTimes[i:i+3]...))
				}
				for i, text := range farTimes {
					for op, want := range map[string][]int64{"=": {int64(i)}, "<": between(0, i), ">": between(i+1, len(farTimes)), "!=": without(between(0, len(farTimes)), func(id int64) bool { return id == int64(i) })} {
						if got, _ := scanIDs(t, tbl, ScanOptions{Where: where(t, "ts "+op+" '"+text+"'")}); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
							t.Errorf("ts %s %s: rows %v, want %v", op, text, got, want)
						}
					}
					if _, err := tbl.Ingest(ctx, source(farRows(t, 2, text)), IngestOptions{Unique: []string{"ts"}}); !errors.Is(err, ErrExists) {
						t.Errorf("%s again: %v", text, err)
					}
				}
				out, err := tbl.Ingest(ctx, source(farRows(t, 2, farTimes...)), IngestOptions{UpsertBy: []string{"ts"}})
				if err != nil || out.Replaced != int64(len(farTimes)) || counted(t, tbl) != int64(len(farTimes)) {
					t.Errorf("replaced %+v, %v", out, err)
				}
				for i, text := range farTimes {
					if d := remove(t, tbl, "ts = '"+text+"'"); d.Rows != 1 || counted(t, tbl) != int64(len(farTimes)-1-i) {
						t.Errorf("%s: deleted %+v, left %d", text, d, counted(t, tbl))
					}
				}
			})
		}
	}
}
