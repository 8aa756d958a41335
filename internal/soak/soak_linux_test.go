package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// childEnv makes the test binary a service: its value is the folder and how far ahead its clock is.
const childEnv = "SHARDCAT_TEST_SOAK"

const (
	tables     = 3
	mostShards = 12
)

// policy is that of all services: small groups, so that there is always something to do.
var policy = compaction.Overrides{"*": {"schedule": "1s", "jitter": "0", "min-inputs": "3", "max-inputs": "20", "concurrency": "2", "expire": "2s", "pack-objects": "40"}}

func options(dir string, ahead time.Duration) catalog.Options {
	return catalog.Options{
		URI: "sqlite:" + filepath.Join(dir, "catalog.db"), Warehouse: filepath.Join(dir, "warehouse"),
		Client: blobio.NewClient(), Metadata: blobio.NewClient(), Now: func() time.Time { return time.Now().Add(ahead) },
	}
}

func TestSoak(t *testing.T) {
	if text := os.Getenv(childEnv); text != "" {
		dir, ahead, _ := strings.Cut(text, "|")
		serve(t, dir, ahead)
		return
	}
	if testing.Short() {
		t.Skip("six seconds of work are too long for -short")
	}
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("SHARDCAT_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("SHARDCAT_SEED=%d", seed)
	s := &soak{t: t, dir: t.TempDir(), ledger: map[catalog.Name]map[int64]bool{}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	enough := time.Now().Add(duration(t))
	go s.until(enough, enough.Add(time.Minute), cancel)
	var work sync.WaitGroup
	for i := range tables {
		name := catalog.Name{Namespace: "default", Table: fmt.Sprint("t", i)}
		s.ledger[name] = map[int64]bool{}
		s.create(name)
		work.Go(func() { s.write(ctx, name, rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	for i, ahead := range []string{"0s", "1h"} {
		work.Go(func() { s.torment(ctx, ahead, rand.New(rand.NewPCG(seed, uint64(100+i)))) })
	}
	work.Wait()
	for name := range s.ledger {
		s.settle(name)
	}
	t.Logf("%d appends, %d deletions, %d columns, %d runs that compacted, %d leases lost; services killed %d times, stopped %d times, ended %d times",
		s.appends, s.deletions, s.columns, s.compactions.Load(), s.lost.Load(), s.kills, s.stops, s.ends)
	if s.appends < 10 || s.deletions == 0 || s.kills == 0 || s.compactions.Load() == 0 {
		t.Error("too little happened to prove anything")
	}
}

// until ends the work at a time, or, as long as the services had no luck yet, later.
func (s *soak) until(enough, latest time.Time, end func()) {
	defer end()
	time.Sleep(time.Until(enough))
	for s.compactions.Load() == 0 && time.Now().Before(latest) {
		time.Sleep(100 * time.Millisecond)
	}
}

func duration(t *testing.T) time.Duration {
	if text := os.Getenv("SHARDCAT_SOAK"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	return 6 * time.Second
}

// serve is a service until it is ended or killed.
func serve(t *testing.T, dir, text string) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	ahead, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Open(ctx, options(dir, ahead))
	if err != nil {
		if ctx.Err() != nil {
			return
		}
		t.Fatal(err)
	}
	defer c.Close()
	service := compaction.NewService(c, compaction.ServiceOptions{
		Workers: 2, Overrides: policy, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Finished: func(r compaction.Run) {
			if r.Error != "" {
				fmt.Println("run failed:", r.Table, r.Error)
			}
			switch {
			case len(r.Results) > 0:
				fmt.Println("compacted:", r.Table)
			case r.Lease == compaction.LeaseLost:
				fmt.Println("lost a lease:", r.Table)
			}
		},
	})
	if err := service.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if service.Halted() {
		t.Fatalf("halted: %+v", service.Status())
	}
}

type soak struct {
	t   *testing.T
	dir string

	mu                                              sync.Mutex
	ledger                                          map[catalog.Name]map[int64]bool
	next                                            int64
	compactions, lost                               atomic.Int64
	appends, deletions, columns, kills, stops, ends int
}

// open loads a table for one actor.
func (s *soak) open(name catalog.Name, ahead time.Duration) (*catalog.Table, func()) {
	c, err := catalog.Open(context.Background(), options(s.dir, ahead))
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
	c, err := catalog.Open(context.Background(), options(s.dir, 0))
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
}

// write adds and deletes rows, and adds columns, until the time is over.
func (s *soak) write(ctx context.Context, name catalog.Name, r *rand.Rand) {
	t, done := s.open(name, 0)
	defer done()
	for ctx.Err() == nil && t != nil {
		if err := t.Refresh(context.Background()); err != nil {
			s.t.Errorf("%s: refresh: %v", name, err)
			return
		}
		var err error
		switch pick := r.IntN(20); {
		case pick == 0:
			err = s.addColumn(t)
		case pick < 5:
			err = s.delete(t, name, r)
		default:
			err = s.append(t, name, 1+r.IntN(40))
		}
		if err != nil && !errors.Is(err, catalog.ErrConflict) {
			s.t.Errorf("%s: %v", name, err)
			return
		}
		time.Sleep(time.Duration(r.IntN(200)) * time.Millisecond)
	}
}

// append adds rows and enters them once they are there.
func (s *soak) append(t *catalog.Table, name catalog.Name, n int) error {
	s.mu.Lock()
	first := s.next
	s.next += int64(n)
	s.mu.Unlock()
	if _, err := t.Ingest(context.Background(), newSource(t.Schema(), first, n), catalog.IngestOptions{}); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range int64(n) {
		s.ledger[name][first+id] = true
	}
	s.appends++
	return nil
}

// delete takes a range of rows away and strikes them out.
func (s *soak) delete(t *catalog.Table, name catalog.Name, r *rand.Rand) error {
	s.mu.Lock()
	all := slices.Sorted(maps.Keys(s.ledger[name]))
	s.mu.Unlock()
	if len(all) == 0 {
		return nil
	}
	low := all[r.IntN(len(all))]
	high := low + int64(r.IntN(30))
	where, err := filter.Parse(fmt.Sprintf("id BETWEEN %d AND %d", low, high))
	if err != nil {
		return err
	}
	if _, err := t.Delete(context.Background(), where, catalog.DeleteOptions{}); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.ledger[name], func(id int64, _ bool) bool { return id >= low && id <= high })
	s.deletions++
	return nil
}

// addColumn adds a list, which older shards can't be given by metadata alone.
func (s *soak) addColumn(t *catalog.Table) error {
	if len(t.Schema().Fields) > 6 {
		return nil
	}
	wider := &schema.Schema{Fields: slices.Clone(t.Schema().Fields)}
	wider.Fields = append(wider.Fields, &schema.Node{Name: fmt.Sprint("list", len(wider.Fields)), Basic: schema.List, Nullable: true,
		Children: []*schema.Node{{Name: "item", Basic: schema.Int64, Signed: true, Nullable: true}}})
	wider.Number()
	if err := t.AddColumns(context.Background(), wider); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.columns++
	return nil
}

// torment starts a service again and again, and each time does something to it.
func (s *soak) torment(ctx context.Context, ahead string, r *rand.Rand) {
	for ctx.Err() == nil {
		child := exec.Command(os.Args[0], "-test.run=^TestSoak$")
		child.Env = append(os.Environ(), childEnv+"="+s.dir+"|"+ahead)
		var said strings.Builder
		child.Stdout, child.Stderr = &said, &said
		if err := child.Start(); err != nil {
			s.t.Error(err)
			return
		}
		pause(ctx, time.Duration(r.IntN(2500))*time.Millisecond)
		how := r.IntN(4)
		s.mu.Lock()
		switch how {
		case 0:
			s.ends++
		case 1:
			s.stops++
			fallthrough
		default:
			s.kills++
		}
		s.mu.Unlock()
		switch how {
		case 0:
			s.send(child, syscall.SIGTERM)
		case 1:
			s.send(child, syscall.SIGSTOP)
			pause(ctx, time.Duration(r.IntN(2000))*time.Millisecond)
			s.send(child, syscall.SIGCONT)
			pause(ctx, time.Second)
			s.send(child, syscall.SIGKILL)
		default:
			s.send(child, syscall.SIGKILL)
		}
		if err := child.Wait(); err != nil && how == 0 && !strings.Contains(err.Error(), "terminated") { // the signal may come before the handler
			s.t.Errorf("a service that was ended: %v\n%s", err, said.String())
		}
		for line := range strings.Lines(said.String()) {
			switch {
			case strings.HasPrefix(line, "compacted:"):
				s.compactions.Add(1)
			case strings.HasPrefix(line, "lost a lease:"):
				s.lost.Add(1)
			case strings.HasPrefix(line, "run failed:") && !strings.Contains(line, "conflict") && !strings.Contains(line, "canceled"):
				s.t.Error(line)
			}
		}
	}
}

func (s *soak) send(child *exec.Cmd, sig syscall.Signal) {
	if err := child.Process.Signal(sig); err != nil {
		s.t.Error(err)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// settle holds a table against the ledger once all is quiet.
func (s *soak) settle(name catalog.Name) {
	t, done := s.open(name, 6*time.Minute) // leases of the dead are over
	defer done()
	if t == nil {
		return
	}
	lease, err := t.LeaseForCompaction(context.Background())
	if err != nil {
		s.t.Errorf("%s: a lease is stuck: %v", name, err)
		return
	}
	if _, err := compaction.Compact(context.Background(), t, compaction.Policy{}, compaction.Options{Fence: lease.Check}); err != nil {
		s.t.Errorf("%s: %v", name, err)
	}
	lease.Release(context.Background())
	if n := t.Describe().Shards; n > mostShards {
		s.t.Errorf("%s: %d shards, the policy's bound is %d", name, n, mostShards)
	}
	if got, want := s.ids(t), slices.Sorted(maps.Keys(s.ledger[name])); !slices.Equal(got, want) {
		s.t.Errorf("%s: %d rows, %d by the ledger", name, len(got), len(want))
	}
	old, done := s.open(name, 30*24*time.Hour)
	defer done()
	if old == nil {
		return
	}
	if _, err := old.Collect(context.Background(), catalog.CollectOptions{Execute: true}); err != nil {
		s.t.Errorf("%s: collect: %v", name, err)
	}
	if got := s.ids(old); len(got) != len(s.ledger[name]) {
		s.t.Errorf("%s: collection took rows: %d of %d", name, len(got), len(s.ledger[name]))
	}
}

// ids are the rows of a table, sorted.
func (s *soak) ids(t *catalog.Table) []int64 {
	out := []int64{}
	for b, err := range t.Scan(context.Background(), catalog.ScanOptions{Select: []string{"id"}}, nil) {
		if err != nil {
			s.t.Error(err)
			return nil
		}
		for i := range int(b.NumRows()) {
			out = append(out, b.Column(0).(*array.Int64).Value(i))
		}
	}
	slices.Sort(out)
	return out
}

// source yields one batch of n rows with ids from first on; columns other than the first two are null.
type source struct {
	schema *schema.Schema
	batch  arrow.RecordBatch
}

func newSource(s *schema.Schema, first int64, n int) *source {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
	defer b.Release()
	for i := range int64(n) {
		for f := range s.Fields {
			switch f {
			case 0:
				b.Field(f).(*array.Int64Builder).Append(first + i)
			default:
				b.Field(f).AppendNull()
			}
		}
	}
	return &source{s, b.NewRecordBatch()}
}

func (s *source) Schema() *schema.Schema { return s.schema }

func (s *source) Next(context.Context) (arrow.RecordBatch, error) {
	if s.batch == nil {
		return nil, io.EOF
	}
	b := s.batch
	s.batch = nil
	return b, nil
}
