package compaction_test

import (
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// TestChangeSteps: what a compaction of small shards, a deletion of rows and an expiry cost by a new process, on a store that proves what it
// took: requests, and those of them that wait for one another (docs/design/commit.md draws them).
func TestChangeSteps(t *testing.T) {
	for _, c := range []struct {
		name            string
		do              func(t *testing.T, table *catalog.Table) int64
		steps, requests int64
		rows            int64
	}{
		{"compaction", concat, 11, 20, 3},
		{"deletion", func(t *testing.T, table *catalog.Table) int64 {
			where, err := filter.Parse("id < 5")
			if err != nil {
				t.Fatal(err)
			}
			r, err := table.Delete(t.Context(), where, catalog.DeleteOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return r.Rows
		}, 13, 31, 15},
		{"expiry", func(t *testing.T, table *catalog.Table) int64 {
			p, err := table.PlanExpire(catalog.ExpireOptions{OlderThan: time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)})
			if err == nil {
				err = p.Execute(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			return int64(len(p.Snapshots))
		}, 4, 4, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSlowStore(t)
			s.bucket = blobfake.Receipts{Bucket: memblob.New()}
			s.fill(t, 1, 100)
			s.append(t, 2, 100)
			got := s.measure(t, c.do)
			t.Logf("%+v", got)
			if int64(got.steps) > c.steps || got.requests > c.requests || got.rows != c.rows {
				t.Errorf("%+v, want at most %d steps and %d requests, and %d", got, c.steps, c.requests, c.rows)
			}
		})
	}
}
