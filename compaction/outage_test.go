package compaction

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/testkit/fakeclock"
)

// awayBucket answers nothing while it is away.
type awayBucket struct {
	blobio.Bucket
	away *atomic.Bool
}

func (b *awayBucket) fault(op, key string) error {
	if b.away.Load() {
		return blobio.NewError(op, key, blobio.ErrTransient, fmt.Errorf("connection refused"))
	}
	return nil
}

func (b *awayBucket) Create(ctx context.Context, key string, o blobio.CreateOptions) (blobio.Writer, error) {
	if err := b.fault("create", key); err != nil {
		return nil, err
	}
	return b.Bucket.Create(ctx, key, o)
}

func (b *awayBucket) Stat(ctx context.Context, key string, o blobio.ReadOptions) (blobio.Info, error) {
	if err := b.fault("stat", key); err != nil {
		return blobio.Info{}, err
	}
	return b.Bucket.Stat(ctx, key, o)
}

func (b *awayBucket) List(ctx context.Context, prefix string, o blobio.ListOptions) iter.Seq2[blobio.Info, error] {
	if err := b.fault("list", prefix); err != nil {
		return func(yield func(blobio.Info, error) bool) { yield(blobio.Info{}, err) }
	}
	return b.Bucket.List(ctx, prefix, o)
}

// deniedBucket refuses to read one object while it is denied.
type deniedBucket struct {
	blobio.Bucket
	key    string
	denied atomic.Bool
}

func (b *deniedBucket) fault(op, key string) error {
	if b.denied.Load() && key == b.key {
		return blobio.NewError(op, key, blobio.ErrDenied, nil)
	}
	return nil
}

func (b *deniedBucket) ReadRange(ctx context.Context, key string, off int64, dst []byte, o blobio.ReadOptions) (int, blobio.Info, error) {
	if err := b.fault("read", key); err != nil {
		return 0, blobio.Info{}, err
	}
	return b.Bucket.ReadRange(ctx, key, off, dst, o)
}

func (b *deniedBucket) ReadSuffix(ctx context.Context, key string, n int64, o blobio.ReadOptions) ([]byte, blobio.Info, error) {
	if err := b.fault("read", key); err != nil {
		return nil, blobio.Info{}, err
	}
	return b.Bucket.ReadSuffix(ctx, key, n, o)
}

func (b *deniedBucket) Open(ctx context.Context, key string, off int64, o blobio.ReadOptions) (io.ReadCloser, blobio.Info, error) {
	if err := b.fault("open", key); err != nil {
		return nil, blobio.Info{}, err
	}
	return b.Bucket.Open(ctx, key, off, o)
}

// openOver opens the catalog with another bucket in the place of its store.
func (g *ground) openOver(b blobio.Bucket) *catalog.Catalog {
	g.t.Helper()
	o := g.options()
	o.Client = blobio.NewClient(blobio.ClientOptions{Retry: blobio.RetryPolicy{Attempts: 1}})
	if err := o.Client.MountBucket("mem://"+g.bucket+"/", b); err != nil {
		g.t.Fatal(err)
	}
	c, err := catalog.Open(ctx, o)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { c.Close() })
	return c
}

// lines is a log whose lines can be counted.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 6000 {
		if holds() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("not within a minute: %s", what)
}

// TestOutageOfTheStoreIsOneEvent: a store that is away fails all tables; it is one line of the log and one notification, and when it is back there
// is one line, and the tables are due at once, whatever their back-off.
func TestOutageOfTheStoreIsOneEvent(t *testing.T) {
	g, away := newGround(t), &atomic.Bool{}
	c := g.openOver(&awayBucket{memblob.Open(g.bucket), away})
	const tables = 5
	var names []catalog.Name
	for i := range tables {
		name := catalog.Name{Namespace: "default", Table: fmt.Sprint("t", i)}
		tbl, err := c.Create(ctx, name, catalog.CreateOptions{Schema: fields(), CreateNamespace: true})
		if err != nil {
			t.Fatal(err)
		}
		fill(t, tbl, 2)
		names = append(names, name)
	}
	log, told := &lines{}, &atomic.Int64{}
	away.Store(true)
	s, _, stop := serve(t, c, ServiceOptions{Discover: time.Millisecond, Log: slog.New(slog.NewTextHandler(log, nil)), Failed: func(TableStatus) { told.Add(1) }})
	defer stop()
	eventually(t, "all tables fail", func() bool {
		for _, name := range names {
			if st, _ := s.StatusOf(name); st.State != Failing {
				return false
			}
		}
		return true
	})
	if n := log.count("the store is unreachable"); n != 1 || log.count("compaction failed") != 0 || told.Load() != 1 || s.StoreUp() {
		t.Errorf("%d reports of the outage, %d of failures, %d notifications, store up: %v\n%s", n, log.count("compaction failed"), told.Load(), s.StoreUp(), log.text.String())
	}
	away.Store(false)
	eventually(t, "all tables are compacted", func() bool {
		for _, name := range names {
			if st, _ := s.StatusOf(name); st.State != Waiting || st.Shards != 1 {
				return false
			}
		}
		return true
	})
	if n := log.count("the store is reachable again"); n != 1 || !s.StoreUp() {
		t.Errorf("%d reports of the end of the outage", n)
	}
}

// TestPolicySetActsAtOnce: a service that would look at a table in a day, or that has paused it by its settings, sees a change of the settings of
// the table, or of a namespace around it, when it looks for new tables. A table that halts waits for somebody all the same.
func TestPolicySetActsAtOnce(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 2)
	if err := SetPolicy(ctx, tbl, map[string]string{"schedule": "24h", "min-inputs": "3"}); err != nil {
		t.Fatal(err)
	}
	s, runs, stop := serve(t, tbl.Catalog(), ServiceOptions{Discover: time.Millisecond})
	defer stop()
	await(t, runs, 1)
	if st := statusOf(t, s, name); st.Shards != 2 || st.Schedule != "24h" {
		t.Fatalf("%+v", st)
	}
	other := g.load(nil) // another process
	if err := SetPolicy(ctx, other, map[string]string{"schedule": "12h", "min-inputs": "2"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the table's settings are in force", func() bool {
		st, _ := s.StatusOf(name)
		return st.Schedule == "12h" && st.Shards == 1
	})
	if err := SetPolicy(ctx, g.load(nil), map[string]string{"schedule": ""}); err != nil {
		t.Fatal(err)
	}
	if err := SetNamespacePolicy(ctx, other.Catalog(), "default", map[string]string{"schedule": "6h"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the namespace's settings are in force", func() bool {
		st, _ := s.StatusOf(name)
		return st.Schedule == "6h"
	})
}

// TestPropertiesLeaveRecords: a change of settings as properties leaves a record for running services; that of properties that services do not read leaves none.
func TestPropertiesLeaveRecords(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	for n, key := range []string{"owner", PropertyPrefix + "schedule"} {
		err := SetProperties(ctx, tbl, map[string]string{key: "1h"}, nil)
		if err == nil {
			err = SetNamespaceProperties(ctx, tbl.Catalog(), "default", map[string]string{key: "1h"}, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		records := 0
		for _, err := range tbl.Catalog().Client().List(ctx, tbl.Catalog().Vault()+settingsFolder) {
			if records++; err != nil {
				t.Fatal(err)
			}
		}
		if records != 2*n {
			t.Errorf("%s: %d records", key, records)
		}
	}
}

// TestCollectionByDefault: a table without settings is collected by the service's delays; a collection that is refused is reported, and neither fails
// nor halts the table.
func TestCollectionByDefault(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 30)
	if err := SetPolicy(ctx, tbl, map[string]string{"expire": "0s", "allow-concat": "false", "allow-pack": "false", "rebuild-stripes": "2"}); err != nil {
		t.Fatal(err)
	}
	s, runs, stop := serve(t, tbl.Catalog(), ServiceOptions{Collect: catalog.CollectOptions{MinAge: time.Nanosecond, UnsafeMinAge: true, DeleteDelay: -1, MaxDeleteRatio: 0.01}})
	defer stop()
	await(t, runs, 1)
	if st := statusOf(t, s, name); st.State != Waiting || !strings.HasPrefix(st.Problem, "collection: ") || st.Remedy != "shardcat gc default.t" {
		t.Errorf("a refused collection: %s %q %q", st.State, st.Problem, st.Remedy)
	}
	if err := SetPolicy(ctx, g.load(nil), map[string]string{"collect-max-delete-ratio": "1", "collect": "always"}); err != nil {
		t.Fatal(err)
	}
	deleted := 0
	for range 3 {
		if err := s.RunNow(name); err != nil {
			t.Fatal(err)
		}
		for _, r := range await(t, runs, 1) {
			deleted += r.ObjectsDeleted
		}
		if st := statusOf(t, s, name); st.Problem != "" {
			t.Errorf("%+v", st)
		}
	}
	if deleted == 0 {
		t.Error("nothing was deleted")
	}
	for _, bad := range []map[string]string{{"collect-min-age": "1h"}, {"collect-max-delete-ratio": "0"}, {"collect-max-delete-ratio": "1.5"}, {"collect-delete-delay": "never"}} {
		if err := (Level{"test", bad}).Check(); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}

// TestOneRound: Once does what is due to every table, and its error names those that fail.
func TestOneRound(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 3)
	c := tbl.Catalog()
	bad := catalog.Name{Namespace: "default", Table: "bad"}
	if _, err := c.Create(ctx, bad, catalog.CreateOptions{Schema: fields(), Properties: map[string]string{PropertyPrefix + "min-inputs": "one"}}); err != nil {
		t.Fatal(err)
	}
	s := NewService(c, ServiceOptions{Workers: 2})
	if err := s.Once(ctx); err == nil || !strings.Contains(err.Error(), "default.bad") || strings.Contains(err.Error(), name.String()+" ") {
		t.Errorf("%v", err)
	}
	if st, _ := s.StatusOf(name); st.Shards != 1 || st.Rounds != 1 {
		t.Errorf("%+v", st)
	}
}

// TestDiscoveryBacksOff: while the catalog fails, its tables are requested after 2, 4, 8 … seconds, at least as often as without a failure,
// and as before once it answers.
func TestDiscoveryBacksOff(t *testing.T) {
	g := newGround(t)
	g.create()
	closed, log := g.open(nil), &lines{}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := fakeclock.New(start)
	s := NewService(closed, ServiceOptions{Now: clock.Now, Discover: 10 * time.Second, Log: slog.New(slog.NewTextHandler(log, nil))})
	var tries []int
	for second := range 40 {
		before := s.undiscovered
		s.watch(ctx)
		if s.undiscovered > before {
			tries = append(tries, second)
		}
		clock.Advance(time.Second)
	}
	if want := []int{0, 2, 6, 14, 24, 34}; !slices.Equal(tries, want) {
		t.Errorf("tries at second %v, want %v", tries, want)
	}
	s.cat = g.open(nil)
	for second := 40; len(s.Status()) == 0 && second < 60; second++ {
		s.watch(ctx)
		clock.Advance(time.Second)
	}
	if len(s.Status()) != 1 || s.undiscovered != 0 {
		t.Errorf("%d tables after the catalog is back, %d failures", len(s.Status()), s.undiscovered)
	}
	if away, back := log.count("the catalog is unreachable"), log.count("the catalog is reachable again"); away != 1 || back != 1 {
		t.Errorf("%d reports of the outage, %d of its end", away, back)
	}
}
