package compaction_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

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

// historyOf gives the table so many snapshots, as a table would have that nobody expires: its metadata file then lists ones that were never made
// before the oldest, each with random numbers and names, which do not compress. To commit each of them would write 10,000 metadata files. size and
// text are the bytes of the file and of its JSON.
func (s *slowStore) historyOf(t *testing.T, snapshots int) (size, text int64) {
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
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	if err := client.MountBucket("mem://steps/", keptOpen{s.bucket}); err != nil {
		t.Fatal(err)
	}
	b, _, err := client.ReadAll(t.Context(), "mem://steps/"+newest, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	compressed := strings.HasSuffix(newest, ".gz.metadata.json")
	if compressed {
		b = unpacked(t, b)
	}
	metadata := map[string]any{}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber() // numbers of snapshots are longer than a float
	if err := d.Decode(&metadata); err != nil {
		t.Fatal(err)
	}
	addHistory(t, metadata, snapshots)
	b, err = json.Marshal(metadata)
	text = int64(len(b))
	if err == nil && compressed {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, err = z.Write(b)
		err = errors.Join(err, z.Close())
		b = packed.Bytes()
	}
	if err == nil {
		err = s.bucket.Delete(t.Context(), newest, blobio.DeleteOptions{})
	}
	if err == nil {
		err = client.Put(t.Context(), "mem://steps/"+newest, b)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.with(t, func(table *catalog.Table) {
		if err := table.SetProperties(t.Context(), map[string]string{"note": "x"}, nil); err != nil {
			t.Fatal(err)
		}
		newest = table.MetadataLocation()
	})
	if !strings.HasSuffix(newest, ".gz.metadata.json") {
		t.Fatalf("the metadata file %s is not compressed", newest)
	}
	packed, _, err := client.ReadAll(t.Context(), newest, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return int64(len(packed)), text
}

// unpacked is what gzip has packed.
func unpacked(t *testing.T, packed []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// addHistory puts snapshots before the oldest of metadata until there are so many.
func addHistory(t *testing.T, metadata map[string]any, snapshots int) {
	random := rand.New(rand.NewPCG(1, 2))
	name := func() string {
		var id uuid.UUID
		binary.BigEndian.PutUint64(id[:], random.Uint64())
		binary.BigEndian.PutUint64(id[8:], random.Uint64())
		return id.String()
	}
	was, log := metadata["snapshots"].([]any), metadata["snapshot-log"].([]any)
	oldest := was[0].(map[string]any)
	first, err := oldest["timestamp-ms"].(json.Number).Int64()
	if err != nil {
		t.Fatal(err)
	}
	list := oldest["manifest-list"].(string)
	list = list[:strings.LastIndexByte(list, '/')+1]
	more := snapshots - len(was)
	at := first - int64(more)*60_000 // one a minute
	parent := int64(0)
	var all, logged []any
	for range more {
		copied, summary := maps.Clone(oldest), maps.Clone(oldest["summary"].(map[string]any))
		id := random.Int64()
		at += random.Int64N(60_000)
		if summary["shardcat.job-id"] == nil {
			t.Fatal("snapshots have no id of their job any more")
		}
		summary["shardcat.job-id"] = name()
		copied["snapshot-id"], copied["timestamp-ms"], copied["summary"] = id, at, summary
		copied["manifest-list"] = fmt.Sprintf("%ssnap-%d-1-%s.avro", list, id, name())
		if parent != 0 {
			copied["parent-snapshot-id"] = parent
		}
		parent = id
		all, logged = append(all, copied), append(logged, map[string]any{"snapshot-id": id, "timestamp-ms": at})
	}
	oldest["parent-snapshot-id"] = parent
	metadata["snapshots"], metadata["snapshot-log"] = append(all, was...), append(logged, log...)
}

// TestMetadataSteps: manifests are read side by side, by a count and by the commit that merges a hundred of them, also after 10,000 snapshots, whose
// list is read once, compressed, and once more by a commit on a store that proves nothing.
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
			var text int64
			history, text = s.historyOf(t, c.snapshots)
			t.Logf("a metadata file of %d bytes, %d before compression", history, text)
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
		if most := 2*history + 1<<18; got.steps > c.appendSteps || got.requests > int64(c.appendRequests) || got.rows != 100 || got.bytes > most {
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
