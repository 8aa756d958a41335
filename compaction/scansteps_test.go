package compaction_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// requestTime is how long a request to the store of these tests takes, in time that costs none: what an operation takes, divided
// by it, is the longest chain of requests that really waited for one another, limits to what is under way at a time included.
const requestTime = 30 * time.Millisecond

// slowStore is a store in memory, before which each request takes requestTime.
type slowStore struct {
	bucket blobio.Bucket
	uri    string
}

func newSlowStore(t *testing.T) *slowStore {
	t.Helper()
	codecs.Do(func() { makeCodecs(t) })
	return emptyStore(t)
}

// with does something with the table, whose requests take no time.
func (s *slowStore) with(t *testing.T, do func(table *catalog.Table)) {
	t.Helper()
	cat, client := s.open(t, 0)
	defer client.Close()
	defer cat.Close()
	table, err := cat.Load(t.Context(), stepsTable)
	if err != nil {
		t.Fatal(err)
	}
	do(table)
}

// concat joins the shards of a table into one, and gives their number.
func concat(t *testing.T, table *catalog.Table) int64 {
	t.Helper()
	r, err := compaction.Compact(t.Context(), table, compaction.Policy{NoRebuild: true, NoPack: true}, compaction.Options{})
	if err != nil || r.ShardsAfter != 1 {
		t.Fatal(r, err)
	}
	return int64(r.ShardsBefore)
}

var codecs sync.Once

// makeCodecs merges, and reads, shards of many stripes once. What is compressed there goes by codecs of the process, which make channels when they
// are first used: those of a bubble of synctest could not be used in another.
func makeCodecs(t *testing.T) {
	s := emptyStore(t)
	s.fill(t, 150, 1)
	s.with(t, func(table *catalog.Table) {
		concat(t, table)
		if rows := scan("v < 0 OR id >= 0", "id", "v", "s")(t, table); rows != 150 {
			t.Fatalf("%d rows", rows)
		}
	})
}

func emptyStore(t *testing.T) *slowStore {
	return &slowStore{keptOpen{memblob.New()}, "sqlite:" + t.TempDir() + "/catalog.db"}
}

// keptOpen is a bucket that outlives the clients it is mounted in.
type keptOpen struct{ blobio.Bucket }

func (keptOpen) Close() error { return nil }

// open opens the catalog over the store, whose requests take latency.
func (s *slowStore) open(t *testing.T, latency time.Duration) (*catalog.Catalog, *blobio.Client) {
	t.Helper()
	client := blobio.NewClient(blobio.ClientOptions{})
	if err := client.MountBucket("mem://steps/", keptOpen{blobfake.NewSlow(s.bucket, blobfake.Latency{FirstByte: latency})}); err != nil {
		t.Fatal(err)
	}
	cat, err := catalog.Open(context.Background(), catalog.Options{URI: s.uri, Warehouse: "mem://steps/warehouse", Client: client, Metadata: client})
	if err != nil {
		t.Fatal(err)
	}
	return cat, client
}

var stepsTable = catalog.Name{Namespace: "default", Table: "steps"}

const stepsSchema = "id: Int64, v: Int64, s: String"

// fill makes a table of shards with so many rows each: ids in order, numbers and texts at random.
func (s *slowStore) fill(t *testing.T, shards, rows int) { s.fillWith(t, shards, rows, nil) }

// fillWith is fill for a table with properties.
func (s *slowStore) fillWith(t *testing.T, shards, rows int, properties map[string]string) {
	t.Helper()
	cat, client := s.open(t, 0)
	defer client.Close()
	defer cat.Close()
	of, err := schema.Parse(stepsSchema)
	if err != nil {
		t.Fatal(err)
	}
	table, err := cat.Create(t.Context(), stepsTable, catalog.CreateOptions{Schema: of, CreateNamespace: true, Properties: properties})
	if err != nil {
		t.Fatal(err)
	}
	s.ingest(t, table, stepsRows(t, shards*rows), rows)
}

// ingest adds shards of so many rows each.
func (s *slowStore) ingest(t *testing.T, table *catalog.Table, src *recordSource, rows int) {
	t.Helper()
	if _, err := table.Ingest(t.Context(), src, catalog.IngestOptions{ShardRows: int64(rows)}); err != nil {
		t.Fatal(err)
	}
}

// stepsRows are rows with ids in order, and numbers and texts at random.
func stepsRows(t *testing.T, rows int) *recordSource {
	t.Helper()
	return rowsOf(t, rows, func(_ int, r *rand.Rand) int64 { return r.Int64N(1 << 40) })
}

// rowsOf are rows with ids in order, the numbers of v, and texts at random.
func rowsOf(t *testing.T, rows int, v func(i int, r *rand.Rand) int64) *recordSource {
	t.Helper()
	of, err := schema.Parse(stepsSchema)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(of))
	for i := range rows {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.Int64Builder).Append(v(i, r))
		b.Field(2).(*array.LargeStringBuilder).Append(fmt.Sprintf("%x", r.Uint64()))
	}
	return &recordSource{schema: of, batch: b.NewRecordBatch()}
}

// took is what an operation cost.
type took struct {
	steps          int
	gets, requests int64
	bytes          int64
	rows           int64
}

// measure runs an operation on the table, as loaded again by another program.
func (s *slowStore) measure(t *testing.T, do func(t *testing.T, table *catalog.Table) int64) (out took) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cat, client := s.open(t, requestTime)
		defer client.Close()
		defer cat.Close()
		begin := time.Now()
		table, err := cat.Load(t.Context(), stepsTable)
		if err != nil {
			t.Fatal(err)
		}
		out.rows = do(t, table)
		out.steps = int(time.Since(begin) / requestTime)
		n := client.Counters()
		out.gets, out.bytes = n.Gets, n.GetBytes
		out.requests = n.Gets + n.Puts + n.Heads + n.Lists + n.Deletes
	})
	return out
}

// scan is an operation that reads rows.
func scan(where string, columns ...string) func(t *testing.T, table *catalog.Table) int64 {
	return func(t *testing.T, table *catalog.Table) (rows int64) {
		o := catalog.ScanOptions{Select: columns, Ordered: true, ReuseBatches: true}
		if where != "" {
			var err error
			if o.Where, err = filter.Parse(where); err != nil {
				t.Fatal(err)
			}
		}
		for b, err := range table.Scan(t.Context(), o, nil) {
			if err != nil {
				t.Fatal(err)
			}
			rows += b.NumRows()
		}
		return rows
	}
}

// TestScanSteps: a scan of many shards takes at most 20 steps, and one of the shard of as many stripes that compaction makes of them
// no more than before: of small stripes, whose columns come with one request, and of large ones, of which a filter reads its own
// columns first.
func TestScanSteps(t *testing.T) {
	for _, c := range []struct {
		name         string
		shards, rows int
	}{{"small", 200, 1000}, {"large", 24, 60_000}, {"many large", 200, 100_000}} {
		t.Run(c.name, func(t *testing.T) {
			if c.shards*c.rows > 10_000_000 && os.Getenv("SHARDCAT_FULL") == "" {
				t.Skip("20 million rows: only with SHARDCAT_FULL")
			}
			scanSteps(t, c.shards, c.rows)
		})
	}
}

func scanSteps(t *testing.T, shards, rows int) {
	s := newSlowStore(t)
	s.fill(t, shards, rows)
	scans := []struct {
		name string
		do   func(*testing.T, *catalog.Table) int64
		rows int // -1 for some
	}{
		{"filter on an unsorted column", scan(fmt.Sprintf("v < %d", (1<<40)/rows), "id", "v", "s"), -1},
		{"two columns", scan("", "id", "v"), shards * rows},
		{"all columns", scan(""), shards * rows},
	}
	before := make([]took, len(scans))
	for i, c := range scans {
		before[i] = s.measure(t, c.do)
		t.Logf("%s: %+v before", c.name, before[i])
	}
	s.with(t, func(table *catalog.Table) { concat(t, table) })
	for i, c := range scans {
		after := s.measure(t, c.do)
		t.Logf("%s: %+v after", c.name, after)
		if before[i].steps > 20 || after.steps > 20 || after.steps > before[i].steps {
			t.Errorf("%s: %d steps before compaction, %d after, want at most 20, and not more after than before", c.name, before[i].steps, after.steps)
		}
		if after.rows != before[i].rows || c.rows >= 0 && after.rows != int64(c.rows) || after.rows == 0 {
			t.Errorf("%s: %d rows before compaction, %d after, want %d", c.name, before[i].rows, after.rows, c.rows)
		}
		if after.gets > before[i].gets || after.bytes > before[i].bytes*11/10 {
			t.Errorf("%s: %d requests and %d bytes before compaction, %d and %d after", c.name, before[i].gets, before[i].bytes, after.gets, after.bytes)
		}
	}
}

// TestFilterOfManyStripes: where a scan has more stripes than requests can be in flight, the blocks that a filter leaves of a stripe are one
// request after that for the range indexes, as long as that costs few bytes that are not needed.
func TestFilterOfManyStripes(t *testing.T) {
	const shards, rows = 70, 20_000
	s := newSlowStore(t)
	s.fill(t, shards, rows)
	few := scan(fmt.Sprintf("v < %d", (1<<40)/rows*8), "id", "v", "s")
	check := func(when string, most int64) {
		all, got := s.measure(t, scan("")), s.measure(t, few)
		t.Logf("%s: %+v, all rows: %+v", when, got, all)
		if got.gets > most || got.bytes > all.bytes*102/100 || got.rows < 7*shards || got.rows > 9*shards {
			t.Errorf("%s: %+v, all rows: %+v, want at most %d requests", when, got, all, most)
		}
	}
	check("before compaction", 3*shards+10)
	s.with(t, func(table *catalog.Table) { concat(t, table) })
	check("after it", 2*shards+10)
}

// TestFilterOfOneBlockInManyStripes: what range indexes rule out is not read where it is most of a stripe.
func TestFilterOfOneBlockInManyStripes(t *testing.T) {
	const shards, rows = 70, 36_000
	s := newSlowStore(t)
	s.fill(t, 1, 1)
	s.with(t, func(table *catalog.Table) {
		s.ingest(t, table, rowsOf(t, shards*rows, func(i int, _ *rand.Rand) int64 { return int64(i % rows * 1000) }), rows)
	})
	all, got := s.measure(t, scan("")), s.measure(t, scan("v = 77000", "id", "v", "s"))
	t.Logf("%+v, all rows: %+v", got, all)
	if got.rows != shards || got.bytes > all.bytes/2 {
		t.Errorf("%+v, all rows: %+v, want a row of each stripe, and less than half the bytes", got, all)
	}
}

// TestReadAheadKeepsToMemory: what is fetched ahead fits into the memory that a scan may take, however little that is, and a scan that
// could be read without it still is.
func TestReadAheadKeepsToMemory(t *testing.T) {
	const shards, rows = 24, 20_000
	s := newSlowStore(t)
	s.fill(t, shards, rows)
	for _, memory := range []int64{4 << 20, 16 << 20, 256 << 20} {
		for _, where := range []string{"", "v > 100"} {
			s.measure(t, func(t *testing.T, table *catalog.Table) (n int64) {
				o := catalog.ScanOptions{Ordered: true, ReuseBatches: true, MaxMemory: memory}
				if where != "" {
					var err error
					if o.Where, err = filter.Parse(where); err != nil {
						t.Fatal(err)
					}
				}
				for b, err := range table.Scan(t.Context(), o, nil) {
					if err != nil {
						t.Fatalf("%d bytes of memory, WHERE %q: %v", memory, where, err)
					}
					n += b.NumRows()
				}
				if n != shards*rows {
					t.Errorf("%d bytes of memory, WHERE %q: %d rows", memory, where, n)
				}
				return n
			})
		}
	}
}

// recordSource gives one batch.
type recordSource struct {
	schema *schema.Schema
	batch  arrow.RecordBatch
}

func (s *recordSource) Schema() *schema.Schema { return s.schema }
func (s *recordSource) Close() error           { return nil }

func (s *recordSource) Next(context.Context) (arrow.RecordBatch, error) {
	if s.batch == nil {
		return nil, io.EOF
	}
	b := s.batch
	s.batch = nil
	return b, nil
}

// pack copies the data of a table's shards into one object, whose stripes stay as they are.
func pack(t *testing.T, table *catalog.Table) {
	t.Helper()
	r, err := compaction.Compact(t.Context(), table, compaction.Policy{NoRebuild: true, PackAll: true}, compaction.Options{})
	if err != nil || r.ShardsAfter != 1 {
		t.Fatal(r, err)
	}
}

// TestScanOfPackedStripes: what is read of the stripes of one object is joined, so that scans of many small stripes take a few requests.
func TestScanOfPackedStripes(t *testing.T) {
	const shards, rows = 200, 1000
	s := newSlowStore(t)
	s.fill(t, shards, rows)
	s.with(t, func(table *catalog.Table) { pack(t, table) })
	for _, c := range []struct {
		name     string
		do       func(*testing.T, *catalog.Table) int64
		most     int64
		rows     int64
		mostStep int
	}{
		{"all columns", scan(""), 12, shards * rows, 6},
		{"two columns", scan("", "id", "v"), 10, shards * rows, 6},
		{"filter", scan(fmt.Sprintf("v < %d", (1<<40)/rows), "id", "v", "s"), 14, -1, 7},
	} {
		got := s.measure(t, c.do)
		t.Logf("%s: %+v", c.name, got)
		if got.gets > c.most || got.steps > c.mostStep || c.rows >= 0 && got.rows != c.rows || got.rows == 0 {
			t.Errorf("%s: %+v, want at most %d requests in %d steps", c.name, got, c.most, c.mostStep)
		}
	}
}

// TestTruncatedPackedObject: where what some stripes have in common can't be read, each is read by itself: those before the damage give their rows, and
// the error names the object.
func TestTruncatedPackedObject(t *testing.T) {
	const shards, rows = 70, 1000
	s := newSlowStore(t)
	s.fill(t, shards, rows)
	s.with(t, func(table *catalog.Table) { pack(t, table) })
	bucket := s.bucket.(keptOpen).Bucket.(*memblob.Bucket)
	packed := ""
	for info, err := range bucket.List(t.Context(), "", blobio.ListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(info.Key, "/packed.amudai.stripe") {
			packed = info.Key
			data := make([]byte, info.Size*9/10)
			if _, _, err := bucket.ReadRange(t.Context(), packed, 0, data, blobio.ReadOptions{}); err != nil {
				t.Fatal(err)
			}
			bucket.Replace(packed, data)
		}
	}
	s.with(t, func(table *catalog.Table) {
		n := int64(0)
		var failed error
		for b, err := range table.Scan(t.Context(), catalog.ScanOptions{Ordered: true, ReuseBatches: true, Select: []string{"s"}}, nil) {
			if failed = err; err != nil {
				break
			}
			n += b.NumRows()
		}
		if n == 0 || n == shards*rows || failed == nil || !strings.Contains(failed.Error(), packed) {
			t.Errorf("%d rows of %d, then %v; the truncated object is %s", n, shards*rows, failed, packed)
		}
	})
}

// TestCompactionPacksAtOnce: shards that come together with many stripes of a middling size are packed by the same run, so that scans of
// some columns take a few requests after it; the plan states it.
func TestCompactionPacksAtOnce(t *testing.T) {
	const shards, rows = 70, 9000
	s := newSlowStore(t)
	s.fill(t, shards, rows)
	scans := map[string]func(*testing.T, *catalog.Table) int64{
		"two columns": scan("", "id", "v"), "all columns": scan(""), "filter": scan(fmt.Sprintf("v < %d", (1<<40)/rows), "id", "v", "s"),
	}
	before := map[string]took{}
	for name, do := range scans {
		before[name] = s.measure(t, do)
	}
	s.with(t, func(table *catalog.Table) {
		for settings, policy := range map[compaction.Mode]compaction.Policy{
			compaction.Pack: {}, compaction.Concat: {NoPack: true, NoRebuild: true}, compaction.Rebuild: {NoPack: true},
		} {
			plan, err := compaction.NewPlan(t.Context(), table, policy)
			if err != nil || len(plan.Groups) != 1 || plan.Groups[0].Mode != settings {
				t.Fatalf("%+v, %v, want %s", plan, err, settings)
			}
		}
		r, err := compaction.Compact(t.Context(), table, compaction.Policy{}, compaction.Options{})
		if err != nil || r.ShardsAfter != 1 || r.Results[0].Mode != compaction.Pack || r.BytesMoved == 0 || r.BytesMoved > r.Plan.Groups[0].BytesMoved {
			t.Fatalf("%+v, %v", r, err)
		}
		if plan, err := compaction.NewPlan(t.Context(), table, compaction.Policy{}); err != nil || len(plan.Groups) != 0 {
			t.Errorf("%+v, %v: the packed shard is to be moved again", plan, err)
		}
	})
	for name, do := range scans {
		after := s.measure(t, do)
		t.Logf("%s: %+v, then %+v", name, before[name], after)
		if after.rows != before[name].rows || after.gets > 32 || after.steps > max(before[name].steps, 6) { // a root of so many stripes is two requests
			t.Errorf("%s: %+v, then %+v, want at most 32 requests", name, before[name], after)
		}
	}
}
