package temporal

import (
	"slices"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// A step is tried again by the worker if the store refuses a request of it, or if its first attempt reads damaged bytes: the group is compacted, and does not
// go into quarantine.
func TestStepsAreRetried(t *testing.T) {
	for bucket, script := range map[string]string{
		"retry-writes-a": "put 3: fail denied", "retry-writes-b": "put 7: fail denied", "retry-writes-c": "put 9: fail denied",
		"retry-reads-a": "get 3: fail denied", "retry-reads-b": "get 14: fail denied",
		"retry-damage-a": "get~.amudai.shard 1-12: flip 100", "retry-damage-b": "get~.amudai.shard 1-20: flip 100",
	} {
		t.Run(bucket, func(t *testing.T) {
			_, c := server(t)
			faulty := blobfake.NewFaulty(t, memblob.Open(bucket), "")
			o := optionsOf(t.TempDir())
			o.Warehouse = "mem://" + bucket + "/wh"
			for _, client := range []*blobio.Client{o.Client, o.Metadata} {
				if err := client.MountBucket("mem://"+bucket+"/", faulty); err != nil {
					t.Fatal(err)
				}
			}
			cat, err := catalog.Open(ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { cat.Close() })
			tbl, err := cat.Create(ctx, name, catalog.CreateOptions{Schema: fields(), CreateNamespace: true})
			if err == nil {
				_, err = tbl.Ingest(ctx, &rows{0, 40}, catalog.IngestOptions{ShardRows: 10, CreationTime: time.Unix(1<<30, 0)})
			}
			if err != nil {
				t.Fatal(err)
			}
			before := contents(t, tbl)
			w := NewWorker(c, cat, WorkerOptions{Log: quiet})
			if err := w.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(w.Stop)
			faulty.Play(t, script)
			report, err := Run(t.Context(), c, TableInput{Table: name.String()})
			if err != nil {
				t.Fatalf("%+v, %v", report, err)
			}
			faulty.Play(t, "")
			after, err := cat.Load(ctx, name)
			if err != nil {
				t.Fatal(err)
			}
			if got := contents(t, after); after.Describe().Shards != 1 || !slices.Equal(got, before) {
				t.Errorf("%d shards, %d rows of %d: %+v", after.Describe().Shards, len(got), len(before), report)
			}
			held, err := compaction.LoadQuarantine(ctx, after, nil)
			if err != nil || len(held.Groups()) != 0 {
				t.Errorf("in quarantine: %+v, %v", held.Groups(), err)
			}
		})
	}
}
