package catalog

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/internal/testkit/fakeclock"
)

// moment runs something of another process between two requests of one.
type moment struct {
	mu       sync.Mutex
	at, seen int
	do       func()
}

func (m *moment) pass() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen++; m.seen == m.at {
		var other sync.WaitGroup
		other.Go(m.do) // not on the goroutine of the request, which a failure of the test would end
		other.Wait()
	}
}

// watchedBucket reports a moment of each request.
type watchedBucket struct {
	blobio.Bucket
	moment *moment
}

func (b *watchedBucket) ReadRange(ctx context.Context, key string, off int64, dst []byte, o blobio.ReadOptions) (int, blobio.Info, error) {
	b.moment.pass()
	return b.Bucket.ReadRange(ctx, key, off, dst, o)
}

func (b *watchedBucket) ReadSuffix(ctx context.Context, key string, n int64, o blobio.ReadOptions) ([]byte, blobio.Info, error) {
	b.moment.pass()
	return b.Bucket.ReadSuffix(ctx, key, n, o)
}

func (b *watchedBucket) Open(ctx context.Context, key string, off int64, o blobio.ReadOptions) (io.ReadCloser, blobio.Info, error) {
	b.moment.pass()
	return b.Bucket.Open(ctx, key, off, o)
}

func (b *watchedBucket) List(ctx context.Context, prefix string, o blobio.ListOptions) iter.Seq2[blobio.Info, error] {
	b.moment.pass()
	return b.Bucket.List(ctx, prefix, o)
}

func (b *watchedBucket) Create(ctx context.Context, key string, o blobio.CreateOptions) (blobio.Writer, error) {
	b.moment.pass()
	return b.Bucket.Create(ctx, key, o)
}

func (b *watchedBucket) Delete(ctx context.Context, key string, o blobio.DeleteOptions) error {
	b.moment.pass()
	return b.Bucket.Delete(ctx, key, o)
}

// filesGround is a SQLite catalog over files, with a clock that the test moves. Each load is another process.
type filesGround struct {
	t     *testing.T
	dir   string
	clock *fakeclock.Clock
}

func newFilesGround(t *testing.T) *filesGround {
	return &filesGround{t, t.TempDir(), fakeclock.New(time.Now())}
}

func (g *filesGround) catalog(m *moment) *Catalog {
	g.t.Helper()
	o := Options{
		URI: "sqlite:" + filepath.Join(g.dir, "catalog.db"), Warehouse: "file://" + filepath.ToSlash(g.dir) + "/wh",
		Client: blobio.NewClient(blobio.ClientOptions{}), Metadata: blobio.NewClient(blobio.ClientOptions{}), Now: g.clock.Now,
	}
	for _, client := range []*blobio.Client{o.Client, o.Metadata} {
		var b blobio.Bucket = &fakeclock.Bucket{Bucket: fileblob.Open("/"), Clock: g.clock}
		if m != nil {
			b = &watchedBucket{b, m}
		}
		if err := client.MountBucket("file:///", b); err != nil {
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

func (g *filesGround) load(m *moment) *Table {
	g.t.Helper()
	tbl, err := g.catalog(m).Load(context.Background(), tableName)
	if err != nil {
		g.t.Fatal(err)
	}
	return tbl
}

func (g *filesGround) create() *Table {
	g.t.Helper()
	tbl, err := g.catalog(nil).Create(context.Background(), tableName, CreateOptions{Schema: people(), CreateNamespace: true})
	if err != nil {
		g.t.Fatal(err)
	}
	return tbl
}

// holds compares the rows of a state with the ledger, and verifies the table.
func (g *filesGround) holds(at At, ledger []int64) {
	g.t.Helper()
	tbl := g.load(nil)
	if ids, _ := scanIDs(g.t, tbl, ScanOptions{At: at}); !slices.Equal(slices.Sorted(slices.Values(ids)), ledger) {
		g.t.Errorf("%+v: rows %v, want %v", at, ids, ledger)
	}
	if v, err := tbl.Verify(context.Background(), VerifyOptions{}); err != nil || len(v.Errors) != 0 {
		g.t.Errorf("verified: %+v, %v", v, err)
	}
}

// converges expires and collects until only what is live is left.
func (g *filesGround) converges() {
	g.t.Helper()
	g.clock.Advance(10 * day)
	expireAll(g.t, g.load(nil), g.clock.Now())
	for range 3 {
		g.clock.Advance(10 * day)
		collect(g.t, g.load(nil), CollectOptions{Execute: true, MaxDeleteRatio: 1})
	}
	if c := collect(g.t, g.load(nil), CollectOptions{}); c.Live != c.Objects {
		g.t.Errorf("it does not converge: %+v", c)
	}
}

// each runs work with a moment at request 1, 2, … until there are fewer, and wants several: at every sixth one, at all of them with
// SHARDCAT_FULL.
func each(t *testing.T, work func(m *moment)) {
	t.Helper()
	step := 6
	if os.Getenv("SHARDCAT_FULL") != "" {
		step = 1
	}
	n := 1
	for ; ; n += step {
		m := &moment{at: n}
		if work(m); t.Failed() {
			t.Fatalf("at request %d", n)
		}
		if m.seen < n {
			break
		}
	}
	if n < 5 {
		t.Errorf("%d requests are too few for a race", n)
	}
}

// TestRollbackWhileCollecting rolls a table back at each request of both phases of a collection: the rows of the older state are all
// there, those of the state that was left too as long as its snapshot is, and nothing stays that nobody needs.
func TestRollbackWhileCollecting(t *testing.T) {
	ctx := context.Background()
	for phase := range 2 {
		each(t, func(m *moment) {
			g := newFilesGround(t)
			tbl := g.create()
			ingest(t, tbl, IngestOptions{}, rows(0, 10))
			remove(t, tbl, "id < 3") // its old root is garbage when the snapshot has expired
			expireAll(t, tbl, g.clock.Now().Add(time.Hour))
			older := tbl.Head()
			ingest(t, tbl, IngestOptions{}, rows(20, 5))
			remove(t, tbl, "id = 7 OR id = 21")
			left := tbl.Head()
			g.clock.Advance(10 * day)
			if phase == 1 {
				collect(t, tbl, CollectOptions{Execute: true, MaxDeleteRatio: 1})
				g.clock.Advance(3 * day)
			}
			m.do = func() {
				if err := g.load(nil).Rollback(ctx, older); err != nil {
					t.Error(err)
				}
			}
			if _, err := g.load(m).Collect(ctx, CollectOptions{Execute: true, MaxDeleteRatio: 1}); err != nil && !errors.Is(err, ErrConflict) {
				t.Errorf("phase %d: %v", phase+1, err)
			}
			if m.seen < m.at {
				return
			}
			g.holds(At{}, between(3, 10))
			g.holds(At{SnapshotID: left}, []int64{3, 4, 5, 6, 8, 9, 20, 22, 23, 24})
			g.converges()
			g.holds(At{}, between(3, 10))
		})
	}
}

// TestExpireWhileReading deletes, expires and begins to collect at each request of a scan: the scan gives the rows of the state that it
// began with. Its objects go when delete-delay has passed.
func TestExpireWhileReading(t *testing.T) {
	each(t, func(m *moment) {
		g := newFilesGround(t)
		tbl := g.create()
		ingest(t, tbl, IngestOptions{ShardRows: 5}, rows(0, 15))
		remove(t, tbl, "id = 2")
		m.do = func() {
			other := g.load(nil)
			remove(t, other, "id >= 5 AND id < 12")
			expireAll(t, other, g.clock.Now().Add(time.Hour))
			g.clock.Advance(10 * day)
			if c := collect(t, g.load(nil), CollectOptions{Execute: true, MaxDeleteRatio: 1}); len(c.Mark) == 0 {
				t.Errorf("nothing is marked: %+v", c)
			}
		}
		reader := g.load(m)
		head := reader.Head()
		ids, _ := scanIDs(t, reader, ScanOptions{})
		before, after := without(between(0, 15), func(id int64) bool { return id == 2 }), []int64{0, 1, 3, 4, 12, 13, 14}
		if m.seen < m.at {
			return
		}
		if slices.Sort(ids); !slices.Equal(ids, before) && !slices.Equal(ids, after) || slices.Equal(ids, after) != (head != tbl.Head()) {
			t.Errorf("snapshot %d gives %v", head, ids)
		}
		g.converges()
		g.holds(At{}, after)
		if _, err := g.load(nil).Plan(context.Background(), ScanOptions{At: At{SnapshotID: tbl.Head()}}); !errors.Is(err, ErrNotFound) {
			t.Errorf("the expired snapshot: %v", err)
		}
	})
}

// A job that is cancelled while it begins, at whichever request, is not left open.
func TestCancelledBegin(t *testing.T) {
	g := newFilesGround(t)
	g.create()
	for n, begun := 1, false; !begun; n++ {
		ctx, cancel := context.WithCancel(t.Context())
		m := &moment{do: cancel}
		tbl := g.load(m)
		m.at, m.seen = n, 0
		j, _, err := tbl.BeginJob(ctx, JobCompact, "", nil, func(a string) []string { return []string{tbl.VaultFolder() + a + ".amudai.shard"} })
		if begun = err == nil; begun && n < 3 {
			t.Errorf("begun with %d requests; its record is written and read back", n-1)
		}
		if begun {
			j.Fail(t.Context(), nil)
		}
		cancel()
		if open, err := tbl.Jobs(t.Context(), false); err != nil || len(open) > 0 {
			t.Errorf("cancelled at request %d: %d jobs are open, %v", n, len(open), err)
		}
	}
}
