package compaction

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// init gives a cloud's scheme a driver: the bucket that a test mounts there goes before what it opens. A store in memory
// counts as local, where nothing is damaged on its way.
func init() {
	blobio.Register("gs", func(context.Context, *url.URL) (blobio.Bucket, error) { return memblob.New(), nil })
}

// adoptedShard is a shard that lies in the bucket before the table is made.
const adoptedShard = "gs://damaged/elsewhere/a.amudai.shard"

// openDamaged opens a catalog whose warehouse and metadata lie in a bucket.
func openDamaged(t *testing.T, dir string, bucket blobio.Bucket) *catalog.Catalog {
	t.Helper()
	impatient := blobio.ClientOptions{Retry: blobio.RetryPolicy{First: time.Millisecond}}
	o := catalog.Options{URI: "sqlite:" + filepath.Join(dir, "catalog.db"), Warehouse: "gs://damaged/wh",
		Client: blobio.NewClient(impatient), Metadata: blobio.NewClient(impatient)}
	for _, c := range []*blobio.Client{o.Client, o.Metadata} {
		if err := c.MountBucket("gs://damaged/", bucket); err != nil {
			t.Fatal(err)
		}
	}
	c, err := catalog.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// writeElsewhere writes the shard that a table will adopt.
func writeElsewhere(t *testing.T, client *blobio.Client) {
	t.Helper()
	w, err := shardfmt.NewWriter(ctx, client, adoptedShard, fields(), shardfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := rows(100, 10).Next(ctx)
	if err == nil {
		err = w.Write(ctx, b)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

// lifeOfATable does what writes objects of every kind: roots, stripes, manifests and their lists, metadata files, the
// records of the owner and of jobs, the marker of deleted records.
func lifeOfATable(c *catalog.Catalog) error {
	tbl, _, err := c.IngestNew(ctx, name, rows(0, 10), catalog.CreateOptions{CreateNamespace: true}, catalog.IngestOptions{})
	if err != nil {
		return fmt.Errorf("first ingest: %w", err)
	}
	if _, err := tbl.Ingest(ctx, rows(10, 10), catalog.IngestOptions{}); err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	if _, err := Compact(ctx, tbl, Policy{}, Options{}); err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	where, err := filter.Parse("id = 3")
	if err == nil {
		_, err = tbl.Delete(ctx, where, catalog.DeleteOptions{})
	}
	if err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	if _, err = tbl.Register(ctx, []string{adoptedShard}, catalog.RegisterOptions{}); err != nil {
		return fmt.Errorf("register: %w", err)
	}
	return nil
}

// TestDamagedPuts: whichever PUTs a store damages, everything that was requested is done, and nothing is missing. Each run
// damages every tenth PUT; with SHARDCAT_FULL there is a run for each single one.
func TestDamagedPuts(t *testing.T) {
	want := heldBy(t, memblob.New(), "")
	if len(want) != 29 {
		t.Fatalf("%d rows", len(want))
	}
	puts := 0
	try := func(script string) {
		bucket := blobfake.NewFaulty(t, memblob.New(), "")
		if got := heldBy(t, bucket, script); !slices.Equal(got, want) {
			t.Errorf("%s: %d rows are there of %d", script, len(got), len(want))
		}
		puts = bucket.Requests("put")
	}
	ways, full := []string{"garble", "truncate"}, os.Getenv("SHARDCAT_FULL") != ""
	for n := 1; full && puts >= n-1; n++ {
		for _, how := range ways {
			try(fmt.Sprintf("put %d: %s", n, how))
		}
	}
	const stride, most = 10, 100
	for first := 1; !full && first <= stride; first++ {
		script := ""
		for n := first; n <= most; n += stride {
			script += fmt.Sprintf("put %d: %s\n", n, ways[n/stride%2])
		}
		try(script)
	}
	if puts < 30 || puts > most {
		t.Errorf("%d PUTs", puts)
	}
}

// heldBy is what a table holds in the end of a life over a bucket that plays a script.
func heldBy(t *testing.T, bucket blobio.Bucket, script string) []string {
	t.Helper()
	dir := t.TempDir()
	writeElsewhere(t, openDamaged(t, dir, bucket).Client())
	if f, ok := bucket.(*blobfake.Faulty); ok {
		f.Play(t, script)
	}
	if err := lifeOfATable(openDamaged(t, dir, bucket)); err != nil {
		t.Errorf("%s: %v", script, err)
	}
	tbl, err := openDamaged(t, dir, bucket).Load(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tbl.Collect(ctx, catalog.CollectOptions{}); err != nil {
		t.Errorf("%s: nothing can be collected any more: %v", script, err)
	}
	return contents(t, tbl)
}
