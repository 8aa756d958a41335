package shardfmt

import (
	"errors"
	"fmt"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// cachedAt mounts the bucket in a client with a cache. The client is closed at the end of the test, and the bucket with it.
func cachedAt(t *testing.T, b blobio.Bucket, o blobio.CacheOptions) *blobio.Client {
	t.Helper()
	sp := blobio.NewClient(blobio.ClientOptions{Cache: o})
	t.Cleanup(func() { sp.Close() })
	if err := sp.MountBucket(faultyBucket, b); err != nil {
		t.Fatal(err)
	}
	return sp
}

// TestScansReplaceDamagedCopies flips a bit in each response on its way into a cache. The scan that finds it yields all rows, once and in
// order, and removes the damaged copy: the second scan fills the cache, and the fourth makes no request.
func TestScansReplaceDamagedCopies(t *testing.T) {
	want := sampleBatch(sampleSchema(t), 0, 3000)
	for name, cache := range map[string]func(t *testing.T) blobio.CacheOptions{
		"memory": func(*testing.T) blobio.CacheOptions { return blobio.CacheOptions{Memory: 64 << 20} },
		"disk":   func(t *testing.T) blobio.CacheOptions { return blobio.CacheOptions{Dir: t.TempDir()} },
		"both":   func(t *testing.T) blobio.CacheOptions { return blobio.CacheOptions{Memory: 64 << 20, Dir: t.TempDir()} },
	} {
		t.Run(name, func(t *testing.T) {
			mem := memblob.New()
			writeSample(t, overBucket(t, mem), faultyRoot, 3000, WriterOptions{StripeRows: 1000})
			found := 0
			for _, at := range []int{0, 9, 100, 1000, 5000, -1, -9, -40, -500} {
				blobfake.Walk(t,
					func(n int) string { return fmt.Sprintf("get %d: flip %d", n, at) },
					func(*testing.T) blobio.Bucket { return mem },
					func(t *testing.T, n int, b *blobfake.Faulty) {
						sp := cachedAt(t, b, cache(t))
						for range 3 {
							got, err := scanRows(t, sp)
							if err != nil {
								t.Fatalf("byte %d of request %d: %v", at, n, err)
							}
							equalBatches(t, got, want)
						}
						before := b.Requests("get")
						if before > untouchedGets {
							found++
						}
						if _, err := scanRows(t, sp); err != nil || b.Requests("get") != before {
							t.Errorf("byte %d of request %d: %d requests of the fourth scan, %v", at, n, b.Requests("get")-before, err)
						}
					})
			}
			if found == 0 {
				t.Error("no flipped bit was noticed")
			}
		})
	}
}

// untouchedGets are the requests of a first scan of the sample: a root and three stripes.
const untouchedGets = 4

// TestGoodReadsThroughACache: without damage the first scan makes a request for the root and each stripe, the second none.
func TestGoodReadsThroughACache(t *testing.T) {
	mem := memblob.New()
	writeSample(t, overBucket(t, mem), faultyRoot, 3000, WriterOptions{StripeRows: 1000})
	sp := cachedAt(t, mem, blobio.CacheOptions{Memory: 64 << 20})
	for range 2 {
		if _, err := scanRows(t, sp); err != nil {
			t.Fatal(err)
		}
		if gets := sp.Counters().Gets; gets != untouchedGets {
			t.Errorf("%d GETs, want %d", gets, untouchedGets)
		}
	}
}

// TestDamageOfTheStoreIsReadTwice: damage of the stored object is reported, after one more read past the cache.
func TestDamageOfTheStoreIsReadTwice(t *testing.T) {
	for _, script := range []string{"get 1-: flip 100", "get 1-: flip -100"} {
		mem := memblob.New()
		writeSample(t, overBucket(t, mem), faultyRoot, 3000, WriterOptions{StripeRows: 1000})
		sp := cachedAt(t, blobfake.NewFaulty(t, mem, script), blobio.CacheOptions{Memory: 64 << 20})
		_, err := scanRows(t, sp)
		if !errors.Is(err, corrupt.ErrCorrupt) && !errors.Is(err, corrupt.ErrUnsupported) {
			t.Errorf("%s: %v", script, err)
		}
		if gets := sp.Counters().Gets; gets > 2*untouchedGets+2 {
			t.Errorf("%s: %d GETs", script, gets)
		}
	}
}

// TestResumedScans: a scan whose cached copy of a later stripe is damaged continues behind the last yielded record, with a filter, a range of
// records and small batches, with one worker and with several.
func TestResumedScans(t *testing.T) {
	mem := memblob.New()
	writeSample(t, overBucket(t, mem), faultyRoot, 3000, WriterOptions{StripeRows: 1000})
	for _, workers := range []int{1, 4} {
		for _, where := range []string{"", "id < 1200 OR id > 1300"} {
			rows := func(t *testing.T, sp *blobio.Client) (n, rows int64) {
				s, err := Open(t.Context(), sp, faultyRoot, OpenOptions{})
				if err != nil {
					t.Fatal(err)
				}
				var stats ScanStats
				o := ScanOptions{BatchRows: 256, Workers: workers, Start: 100, End: 2900, Stats: &stats}
				if where != "" {
					o.Filter = boundTo(t, s, where)
				}
				for b, err := range s.Scan(t.Context(), o) {
					if err != nil {
						t.Fatal(err)
					}
					rows += b.NumRows()
				}
				return stats.RowsMatched, rows
			}
			wantMatched, want := rows(t, overBucket(t, mem))
			if want == 0 || wantMatched != want {
				t.Fatalf("%d rows, %d counted", want, wantMatched)
			}
			for _, at := range []int{1000, -1, -40, -500, -2000} { // early and late blocks of a stripe
				blobfake.Walk(t,
					func(n int) string { return fmt.Sprintf("get %d: flip %d", n, at) },
					func(*testing.T) blobio.Bucket { return mem },
					func(t *testing.T, n int, b *blobfake.Faulty) {
						matched, got := rows(t, cachedAt(t, b, blobio.CacheOptions{Memory: 64 << 20}))
						if got != want || matched != want {
							t.Errorf("%q, %d workers, byte %d of request %d: %d rows, %d counted, want %d",
								where, workers, at, n, got, matched, want)
						}
					})
			}
		}
	}
}

// boundTo binds a filter to a shard.
func boundTo(t *testing.T, s *Shard, where string) *filter.Bound {
	t.Helper()
	e, err := filter.Parse(where)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := s.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bound, err := filter.Bind(e, schema)
	if err != nil {
		t.Fatal(err)
	}
	return bound
}
