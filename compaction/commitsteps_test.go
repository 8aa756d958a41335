package compaction_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// many makes a table by so many appends of one row.
func (s *slowStore) many(t *testing.T, appends int) {
	t.Helper()
	s.fill(t, 1, 1)
	s.append(t, appends-1, 1)
}

// append lands so many rows by each of so many commits.
func (s *slowStore) append(t *testing.T, commits, rows int) {
	t.Helper()
	s.with(t, func(table *catalog.Table) {
		for range commits {
			if _, err := table.Ingest(t.Context(), stepsRows(t, rows), catalog.IngestOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// historyOf gives the table so many snapshots: its metadata file then lists the oldest one under other numbers too, as a table would that nobody
// expires. To write each of them would take 40 GB of metadata files.
func (s *slowStore) historyOf(t *testing.T, snapshots int) (size int64) {
	t.Helper()
	newest := ""
	for o, err := range s.bucket.List(t.Context(), "warehouse/", blobio.ListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(o.Key, ".metadata.json") {
			newest = max(newest, o.Key)
		}
	}
	client := blobio.NewClient()
	defer client.Close()
	if err := client.MountBucket("mem://steps/", keptOpen{s.bucket}); err != nil {
		t.Fatal(err)
	}
	b, _, err := client.ReadAll(t.Context(), "mem://steps/"+newest, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	metadata := map[string]any{}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber() // numbers of snapshots are longer than a float
	if err := d.Decode(&metadata); err != nil {
		t.Fatal(err)
	}
	was := metadata["snapshots"].([]any)
	var all []any
	for i := range snapshots - len(was) {
		copied := maps.Clone(was[0].(map[string]any))
		copied["snapshot-id"] = i + 1
		all = append(all, copied)
	}
	metadata["snapshots"] = append(all, was...)
	if b, err = json.Marshal(metadata); err == nil {
		err = s.bucket.Delete(t.Context(), newest, blobio.DeleteOptions{})
	}
	if err == nil {
		err = client.Put(t.Context(), "mem://steps/"+newest, b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return int64(len(b))
}

// TestMetadataSteps: manifests are read side by side, by a count and by the commit that merges a hundred of them, also after 10,000 snapshots, whose
// list is read once, and once more by a commit on a store that proves nothing.
func TestMetadataSteps(t *testing.T) {
	count := func(t *testing.T, table *catalog.Table) int64 {
		p, err := table.Plan(t.Context(), catalog.ScanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := p.Count(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	append100 := func(t *testing.T, table *catalog.Table) int64 {
		done, err := table.Ingest(context.WithoutCancel(t.Context()), stepsRows(t, 100), catalog.IngestOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return done.Rows
	}
	type steps struct{ appends, snapshots, countSteps, appendSteps, appendRequests int }
	cases := []steps{{49, 0, 3, 8, 16}, {99, 0, 3, 9, 17}, {100, 0, 3, 9, 17}, {101, 10_000, 3, 9, 17}}
	if os.Getenv("SHARDCAT_FULL") != "" {
		cases = append(cases, steps{1000, 10_000, 4, 9, 17})
	}
	for _, c := range cases {
		s := newSlowStore(t)
		s.many(t, c.appends)
		history := int64(0) // bytes of the metadata file
		if c.snapshots > 0 {
			history = s.historyOf(t, c.snapshots)
			s.with(t, func(table *catalog.Table) {
				if n := table.Describe().Snapshots; n != c.snapshots {
					t.Fatalf("%d snapshots", n)
				}
			})
		}
		got := s.measure(t, count)
		t.Logf("count after %d appends: %+v", c.appends, got)
		if most := history + 1<<20; got.steps > c.countSteps || got.rows != int64(c.appends) || got.bytes > most {
			t.Errorf("count after %d appends: %+v, want at most %d steps and %d bytes", c.appends, got, c.countSteps, most)
		}
		got = s.measure(t, append100)
		t.Logf("an append after %d: %+v", c.appends, got)
		if most := 2*history + 2<<20; got.steps > c.appendSteps || got.requests > int64(c.appendRequests) || got.rows != 100 || got.bytes > most {
			t.Errorf("an append after %d: %+v, want at most %d steps, %d requests and %d bytes", c.appends, got, c.appendSteps, c.appendRequests, most)
		}
	}
}

// indexed makes a table with an index of its ids, and lands shards of 20 rows by one commit.
func (s *slowStore) indexed(t *testing.T, shards int) {
	t.Helper()
	s.fillWith(t, shards, 20, map[string]string{catalog.IndexesProperty: "hash:id"})
}

// TestTermFilterSteps: a compaction reads no term filter of shards whose filters the commit that landed them has joined. It takes the steps of
// their roots, two for 200 by the store's requests in flight, and a bounded number beside them.
func TestTermFilterSteps(t *testing.T) {
	const shards = 200
	s := newSlowStore(t)
	s.indexed(t, shards)
	got := s.measure(t, concat)
	t.Logf("a compaction: %+v", got)
	if got.rows != shards || got.steps > 15 || got.gets > shards+10 {
		t.Errorf("a compaction: %+v, want %d shards in at most 15 steps and %d requests", got, shards, shards+10)
	}
	found := s.measure(t, scan("id = 1234", "id"))
	if t.Logf("a lookup: %+v", found); found.rows != 1 || found.steps > 7 {
		t.Errorf("a lookup after it: %+v, want 1 row in at most 7 steps", found)
	}
}

// readTimes is a store that counts the times at which it is read under names that end in suffix.
type readTimes struct {
	blobio.Bucket
	suffix string
	mu     sync.Mutex
	reads  int
	times  map[time.Time]bool
}

func (b *readTimes) ReadRange(ctx context.Context, key string, off int64, dst []byte, o blobio.ReadOptions) (int, blobio.Info, error) {
	if strings.HasSuffix(key, b.suffix) {
		b.mu.Lock()
		b.reads++
		b.times[time.Now()] = true
		b.mu.Unlock()
	}
	return b.Bucket.ReadRange(ctx, key, off, dst, o)
}

// TestTermFiltersOfSeparateCommits: a compaction reads the term filters of 200 commits in at most three steps, and their roots in two.
func TestTermFiltersOfSeparateCommits(t *testing.T) {
	const shards = 200
	s := newSlowStore(t)
	store := &readTimes{Bucket: s.bucket, suffix: ".filter", times: map[time.Time]bool{}}
	s.bucket = store
	s.indexed(t, 1)
	s.append(t, shards-1, 20)
	store.reads, store.times = 0, map[time.Time]bool{}
	got := s.measure(t, concat)
	t.Logf("a compaction: %+v, %d term filters read in %d steps", got, store.reads, len(store.times))
	if got.rows != shards || store.reads != shards || len(store.times) > 3 || got.steps > 18 {
		t.Errorf("a compaction: %+v, %d term filters read in %d steps, want %d in at most 3, and at most 18 in all", got, store.reads, len(store.times), shards)
	}
}

// TestAppendRequests: an append of one shard to a table with a history costs a bounded number of requests, and of those that wait for one
// another, in a new process and in one that has appended to the table before; fewer where the store proves what it took.
func TestAppendRequests(t *testing.T) {
	for _, c := range []struct {
		name    string
		bucket  blobio.Bucket
		appends int
		// first and next are the most steps and requests of the first append of a process, and of the next one.
		first, next [2]int64
	}{
		{"a store that states no checksums, 1 snapshot", memblob.New(), 1, [2]int64{8, 16}, [2]int64{6, 14}},
		{"a store that proves what it took, 1 snapshot", blobfake.Receipts{Bucket: memblob.New()}, 1, [2]int64{7, 11}, [2]int64{5, 9}},
		{"a store that proves what it took, 90 snapshots", blobfake.Receipts{Bucket: memblob.New()}, 90, [2]int64{8, 12}, [2]int64{5, 9}},
		{"a store that proves what it took, 100 snapshots", blobfake.Receipts{Bucket: memblob.New()}, 100, [2]int64{8, 12}, [2]int64{5, 9}},
		{"a store that proves what it took, 150 snapshots", blobfake.Receipts{Bucket: memblob.New()}, 150, [2]int64{8, 12}, [2]int64{5, 9}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSlowStore(t)
			s.bucket = c.bucket
			s.many(t, c.appends)
			ingest := func(t *testing.T, table *catalog.Table) int64 {
				done, err := table.Ingest(t.Context(), stepsRows(t, 100), catalog.IngestOptions{})
				if err != nil {
					t.Fatal(err)
				}
				return done.Rows
			}
			first := s.measure(t, ingest)
			var next took
			s.measure(t, func(t *testing.T, table *catalog.Table) int64 {
				ingest(t, table)
				begin, before := time.Now(), table.Catalog().Client().Counters()
				table, err := table.Catalog().LoadToAppend(t.Context(), stepsTable)
				if err != nil {
					t.Fatal(err)
				}
				next.rows = ingest(t, table)
				next.steps = int(time.Since(begin) / requestTime)
				n := table.Catalog().Client().Counters().Sub(before)
				next.requests = n.Gets + n.Puts + n.Heads + n.Lists + n.Deletes
				return next.rows
			})
			t.Logf("the first append of a process %+v, the next %+v", first, next)
			for _, m := range []struct {
				got  took
				most [2]int64
			}{{first, c.first}, {next, c.next}} {
				if m.got.rows != 100 || int64(m.got.steps) > m.most[0] || m.got.requests > m.most[1] {
					t.Errorf("%+v, want 100 rows in at most %d steps and %d requests", m.got, m.most[0], m.most[1])
				}
			}
		})
	}
}

// TestWriterSharesCommits: deliveries of 16 goroutines that write to one Writer, and wait until theirs is committed, share snapshots: at least 20
// are acknowledged a second where a request takes 30 ms.
func TestWriterSharesCommits(t *testing.T) {
	const writers, deliveries = 16, 10
	s := newSlowStore(t)
	s.bucket = blobfake.Receipts{Bucket: memblob.New()}
	s.many(t, 1)
	source := stepsRows(t, 5)
	got := s.measure(t, func(t *testing.T, table *catalog.Table) int64 {
		begin, commits := time.Now(), 0
		w, err := table.NewWriter(t.Context(), source.schema, catalog.WriterOptions{FlushAge: time.Hour,
			Flushed: func(*catalog.IngestResult) { commits++ }})
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for range writers {
			group.Go(func() {
				for range deliveries {
					if err := errors.Join(w.Write(t.Context(), source.batch), w.Flush(t.Context())); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		took := time.Since(begin)
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		rate := writers * deliveries / took.Seconds()
		t.Logf("%d deliveries in %d snapshots and %v: %.0f a second", writers*deliveries, commits, took, rate)
		if rate < 20 || commits > 2*deliveries+2 {
			t.Errorf("%d deliveries in %d snapshots, %.1f a second, want at least 20", writers*deliveries, commits, rate)
		}
		return table.Describe().Records
	})
	if got.rows != 1+5*writers*deliveries {
		t.Errorf("%d rows, want %d", got.rows, 1+5*writers*deliveries)
	}
}
