package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/testkit/seed"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

const (
	tables  = 2
	writers = 2 // to a table
	// mostShards is how many a table has once everything is compacted that the policy of compaction.Policy{} lets be.
	mostShards = 12
)

func TestSoak(t *testing.T) {
	if text := os.Getenv(childEnv); text != "" {
		runChild(t, text)
		return
	}
	if testing.Short() {
		t.Skip("six seconds of work are too long for -short")
	}
	number, _ := seed.Of(t)
	s := &soak{t: t, seed: number, dir: t.TempDir(), tables: map[catalog.Name]*ledger{}}
	length := durationOf(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i := range tables {
		s.create(catalog.Name{Namespace: "default", Table: fmt.Sprint("t", i)})
	}
	began := time.Now()
	go s.until(began.Add(length), began.Add(length+2*time.Minute), cancel)
	var work sync.WaitGroup
	for name := range s.tables {
		for w := range int64(writers) {
			work.Go(func() { s.drive(ctx, name, w) })
		}
		work.Go(func() { s.watch(ctx, name) })
		work.Go(func() { s.sweep(ctx, name) })
	}
	for i := range uint64(2) {
		work.Go(func() { s.torment(ctx, rand.New(rand.NewPCG(s.seed, 100+i))) })
	}
	work.Go(func() { s.steady(ctx) })
	work.Wait()
	var objects atomic.Int64
	for name := range s.tables {
		work.Go(func() { objects.Add(int64(s.settle(name))) })
	}
	work.Wait()
	if n, odd := s.files(); int64(n) != objects.Load() {
		t.Errorf("%d files are in the store, %d objects are known to the collections; of no known kind: %v", n, objects.Load(), odd)
	}
	s.memoryIsFlat()
	t.Logf("%v: %s", time.Since(began).Round(time.Second), s.summary())
	if !s.enough() {
		t.Error("too little happened to prove anything")
	}
	if length >= 10*time.Minute && s.columns.Load() == 0 {
		t.Error("no writer ever added a column")
	}
}

// soak is one run of the test.
type soak struct {
	t      *testing.T
	seed   uint64
	dir    string
	tables map[catalog.Name]*ledger

	appends, deletions, columns, unknown         atomic.Int64
	compactions, lost, deleted, sweeps, mostSeen atomic.Int64
	kills, stops, ends, writersKilled, faultRuns atomic.Int64
	longestIdle, mostHeld                        atomic.Int64 // nanoseconds without a compaction, shards in quarantine

	mu    sync.Mutex
	heaps []int64 // live heap of the service that lives to the end, in order
}

func (s *soak) summary() string {
	return fmt.Sprintf("%d appends, %d deletions, %d columns, %d of unknown outcome looked up; %d runs that compacted, %d that failed by a fault, %d leases lost, "+
		"at most %d shards, %d of them in quarantine, at most %s without a compaction, %d objects collected in %d sweeps; services killed %d times, stopped %d times, ended %d times, writers killed %d times",
		s.appends.Load(), s.deletions.Load(), s.columns.Load(), s.unknown.Load(), s.compactions.Load(), s.faultRuns.Load(), s.lost.Load(),
		s.mostSeen.Load(), s.mostHeld.Load(), time.Duration(s.longestIdle.Load()).Round(time.Second), s.deleted.Load(), s.sweeps.Load(), s.kills.Load(), s.stops.Load(), s.ends.Load(), s.writersKilled.Load())
}

func durationOf(t *testing.T) time.Duration {
	text := os.Getenv("SHARDCAT_SOAK")
	if text == "" {
		return 6 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// enough is whether so much happened that the run proves something.
func (s *soak) enough() bool {
	return s.appends.Load() >= 10 && s.deletions.Load() > 0 && s.compactions.Load() > 0 && s.kills.Load() > 0 && s.writersKilled.Load() > 0
}

// until ends the work at a time, or, as long as too little has happened, later.
func (s *soak) until(earliest, latest time.Time, end func()) {
	defer end()
	time.Sleep(time.Until(earliest))
	for time.Now().Before(latest) && !s.enough() {
		time.Sleep(100 * time.Millisecond)
	}
}

// options are those of the catalog for everybody; children put their faults into them.
func options(dir string, now func() time.Time) catalog.Options {
	return catalog.Options{
		URI: "sqlite:" + filepath.Join(dir, "catalog.db"), Warehouse: filepath.Join(dir, "warehouse"),
		Client: blobio.NewClient(blobio.ClientOptions{}), Metadata: blobio.NewClient(blobio.ClientOptions{}), Now: now,
	}
}

// open loads a table for the test itself, whose clock is right or so far ahead.
func (s *soak) open(name catalog.Name, ahead time.Duration) (*catalog.Table, func()) {
	c, err := catalog.Open(context.Background(), options(s.dir, func() time.Time { return time.Now().Add(ahead) }))
	if err != nil {
		s.t.Error(err)
		return nil, func() {}
	}
	t, err := c.Load(context.Background(), name)
	if err != nil {
		s.t.Error(err)
	}
	return t, func() { c.Close() }
}

func (s *soak) create(name catalog.Name) {
	c, err := catalog.Open(context.Background(), options(s.dir, time.Now))
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close()
	columns, err := schema.Parse("id: Int64, text: String")
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := c.Create(context.Background(), name, catalog.CreateOptions{Schema: columns, CreateNamespace: true}); err != nil {
		s.t.Fatal(err)
	}
	s.tables[name] = &ledger{rows: map[int64]bool{}, last: time.Now()}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
