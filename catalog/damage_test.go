package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// damagedGround is a catalog over a bucket of a cloud, which a script damages. Open gives a catalog on the bucket as it
// is, or behind the script.
type damagedGround struct {
	*ground
	bucket *blobfake.Faulty
	// metadataCache is that of the catalogs it opens, if not 0.
	metadataCache int
	// cache is that of the clients.
	cache blobio.CacheOptions
}

func newDamagedGround(t *testing.T, script string) *damagedGround {
	g := newGround(t)
	return &damagedGround{ground: g, bucket: blobfake.NewFaulty(t, memblob.New(), script)}
}

func (g *damagedGround) open(bucket blobio.Bucket) *Catalog {
	g.t.Helper()
	const root = "s3://damaged/"
	o := Options{URI: "sqlite:" + g.dir + "/catalog.db", Warehouse: root + "wh", MetadataCache: g.metadataCache}
	impatient := blobio.ClientOptions{Retry: blobio.RetryPolicy{First: time.Millisecond}, Cache: g.cache}
	o.Client, o.Metadata = blobio.NewClient(impatient), blobio.NewClient(impatient)
	for _, c := range []*blobio.Client{o.Client, o.Metadata} {
		if err := c.MountBucket(root, bucket); err != nil {
			g.t.Fatal(err)
		}
	}
	c, err := Open(context.Background(), o)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { c.Close() })
	return c
}

// deliveries makes a table and appends to it, and gives the ids of what was acknowledged.
func (g *damagedGround) deliveries(n int) (acknowledged []int64) {
	ctx := context.Background()
	c := g.open(g.bucket)
	for i := range n {
		var err error
		var in *IngestResult
		if t, loadErr := c.Load(ctx, tableName); loadErr == nil {
			in, err = t.Ingest(ctx, source(rows(10*i, 10)), IngestOptions{})
		} else {
			_, in, err = c.IngestNew(ctx, tableName, source(rows(10*i, 10)), CreateOptions{Schema: people(), CreateNamespace: true}, IngestOptions{})
		}
		if err == nil && in.Rows == 10 {
			acknowledged = append(acknowledged, between(10*i, 10*i+10)...)
		}
	}
	return acknowledged
}

// TestDamagedAgainAndAgain: a store that damages every second, third, … PUT loses nothing that was acknowledged.
func TestDamagedAgainAndAgain(t *testing.T) {
	for every := 2; every <= 5; every++ {
		script := ""
		for n := every; n < 400; n += every {
			script += fmt.Sprintf("put %d: %s\n", n, []string{"garble", "truncate"}[every%2])
		}
		g := newDamagedGround(t, script)
		g.holds(g.deliveries(4))
	}
}

// holds checks that every acknowledged row is there for who reads, and that the table is whole.
func (g *damagedGround) holds(acknowledged []int64) {
	g.t.Helper()
	if len(acknowledged) == 0 {
		g.t.Error("nothing was acknowledged")
		return
	}
	g.bucket.Play(g.t, "")
	tbl := g.load(g.open(g.bucket))
	if err := tbl.claimVault(context.Background()); err != nil {
		g.t.Errorf("nobody may write any more: %v", err)
	}
	if _, err := tbl.readJobs(context.Background()); err != nil {
		g.t.Errorf("nothing can be collected any more: %v", err)
	}
	if got, _ := scanIDs(g.t, tbl, ScanOptions{Ordered: true}); !slices.Equal(got, acknowledged) {
		g.t.Errorf("%d rows are there of %d that were acknowledged", len(got), len(acknowledged))
	}
}

// checking is a bucket that claims to compare checksums.
type checking struct{ *blobfake.Faulty }

func (checking) ProbeChecksum(context.Context, string) (bool, error) { return true, nil }

// TestReadBackBeforeTheCommit: what others hang on is read back also where the store claims to check what it takes, and
// nothing is acknowledged that can't be read.
func TestReadBackBeforeTheCommit(t *testing.T) {
	for _, key := range []string{"_owner.json", "_jobs/", "metadata/"} {
		for _, how := range []string{"garble", "truncate"} {
			g := newDamagedGround(t, fmt.Sprintf("put~%s *: %s", key, how))
			_, _, err := g.open(checking{g.bucket}).IngestNew(context.Background(), tableName, source(rows(0, 10)),
				CreateOptions{Schema: people(), CreateNamespace: true}, IngestOptions{})
			if !errors.Is(err, blobio.ErrDamaged) {
				t.Errorf("%s of %s: %v", how, key, err)
			}
		}
	}
}
