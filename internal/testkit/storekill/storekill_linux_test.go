package storekill

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	_ "github.com/shardcat/shardcat/blobio/s3blob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/internal/testkit/seed"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

const (
	// mostKills is for a compaction, which lets appends go first, to be done between two of them.
	leastKills, mostKills = 5, 8
	appenders             = 2
	// perAppend rows have ids from a multiple of it on.
	perAppend = 10
	// betweenKills is how many appends and deletions are acknowledged from one kill to the next.
	betweenKills = 3
)

// store is a versitygw over a folder, which stays when the process is killed.
type store struct {
	t             *testing.T
	program, root string
	port          string
	process       *exec.Cmd
}

func newStore(t *testing.T) *store {
	s := &store{t: t, program: os.Getenv("SHARDCAT_TEST_S3_SERVER"), root: t.TempDir()}
	if s.program == "" {
		t.Skip("SHARDCAT_TEST_S3_SERVER names no versitygw: no store is killed (.ci/servers names one)")
	}
	for _, dir := range []string{"iam", "data/bucket"} {
		if err := os.MkdirAll(filepath.Join(s.root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// Below the ports that the kernel gives to clients: one that dials such a port while nobody listens may be connected to itself, and keeps it.
	for s.port == "" {
		port := fmt.Sprint(20_000 + rand.IntN(10_000))
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			s.port = port
			l.Close()
		}
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "storekill")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "storekill-secret")
	t.Cleanup(s.kill)
	return s
}

// start starts the process and waits until it takes connections.
func (s *store) start() {
	s.t.Helper()
	s.process = exec.Command(s.program, "--port", "127.0.0.1:"+s.port, "--region", "us-east-1", "--keep-alive", "--quiet",
		"--iam-dir", filepath.Join(s.root, "iam"), "posix", filepath.Join(s.root, "data"))
	s.process.Env = []string{"PATH=" + os.Getenv("PATH"), "ROOT_ACCESS_KEY=storekill", "ROOT_SECRET_KEY=storekill-secret"}
	s.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	for range 600 {
		if c, err := net.Dial("tcp", "127.0.0.1:"+s.port); err == nil {
			c.Close()
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	s.t.Fatal("the store does not answer within a minute")
}

// kill ends the process in the middle of whatever it does.
func (s *store) kill() {
	if s.process != nil {
		s.process.Process.Kill()
		s.process.Wait()
		s.process = nil
	}
}

func (s *store) url() string {
	return "s3://bucket/wh?endpoint=http://127.0.0.1:" + s.port + "&region=us-east-1"
}

// batch is an append and what became of it.
type batch struct {
	job string
	// added and deleted: it was acknowledged. dropped: its deletion was tried at least.
	added, dropped, deleted bool
}

// ledger has the batches by the first id.
type ledger struct {
	mu      sync.Mutex
	batches map[int64]*batch
	// done counts acknowledged changes, unknown those that ended with an error.
	done, unknown, compactions atomic.Int64
}

// TestStoreKilled kills a store by SIGKILL while two writers append, one deletes and one compacts, and starts it again on its folder. What was
// acknowledged is there, whole and once; what ended with an error is there whole or not at all, and is there once after its job was delivered again; and every
// byte verifies.
func TestStoreKilled(t *testing.T) {
	s := newStore(t)
	runtime.LockOSThread() // the store ends with the thread that started it
	defer runtime.UnlockOSThread()
	s.start()
	number, _ := seed.Of(t)
	o := catalog.Options{URI: "sqlite:" + filepath.Join(t.TempDir(), "catalog.db"), Warehouse: s.url(), Log: slog.New(slog.DiscardHandler)}
	open := func() *catalog.Table {
		c, err := catalog.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		tbl, err := c.Load(t.Context(), catalog.Name{Namespace: "default", Table: "t"})
		if errors.Is(err, catalog.ErrNotFound) {
			tbl, err = c.Create(t.Context(), catalog.Name{Namespace: "default", Table: "t"}, catalog.CreateOptions{Schema: ids(t), CreateNamespace: true})
		}
		if err != nil {
			t.Fatal(err)
		}
		return tbl
	}
	last := open()
	l := &ledger{batches: map[int64]*batch{}}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var work sync.WaitGroup
	for w := range int64(appenders) {
		tbl := open()
		r := rand.New(rand.NewPCG(number, uint64(w)))
		work.Go(func() {
			for i := int64(0); ctx.Err() == nil; i++ {
				l.append(ctx, tbl, w*1_000_000+i*perAppend, r)
			}
		})
	}
	deleter, compactor := open(), open()
	work.Go(func() {
		for ctx.Err() == nil {
			l.deleteOne(ctx, deleter)
		}
	})
	work.Go(func() {
		for ctx.Err() == nil {
			pause(ctx, 20*time.Millisecond)
			if compactor.Refresh(ctx) != nil {
				continue
			}
			if r, err := compaction.Compact(ctx, compactor, compaction.Policy{}, compaction.Options{Log: o.Log}); r != nil {
				l.compactions.Add(int64(len(r.Results)))
				if err != nil && !errors.Is(err, catalog.ErrConflict) {
					l.unknown.Add(1)
				}
			}
		}
	})
	r := rand.New(rand.NewPCG(number, 99))
	n := 0
	for ; n < leastKills || n < mostKills && l.compactions.Load() == 0; n++ {
		for until := l.done.Load() + betweenKills; l.done.Load() < until && t.Context().Err() == nil; {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Duration(r.IntN(30)) * time.Millisecond)
		s.kill()
		time.Sleep(time.Duration(r.IntN(400)) * time.Millisecond)
		s.start()
	}
	stop()
	work.Wait()
	t.Logf("%d changes acknowledged, %d ended with an error, %d groups compacted, %d kills", l.done.Load(), l.unknown.Load(), l.compactions.Load(), n)
	l.settle(t, last)
}

func ids(t *testing.T) *schema.Schema {
	s, err := schema.Parse("id: Int64")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// append adds a batch. Every fourth client gives up early, in the middle of a request or of the waits between its tries.
func (l *ledger) append(ctx context.Context, t *catalog.Table, first int64, r *rand.Rand) {
	b := &batch{job: fmt.Sprint("job-", first)}
	l.mu.Lock()
	l.batches[first] = b
	l.mu.Unlock()
	if r.IntN(4) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(5+r.IntN(300))*time.Millisecond)
		defer cancel()
	}
	_, err := t.Append(ctx, rows(t.Schema(), first), catalog.IngestOptions{JobID: b.job})
	l.book(err, func() { b.added = true })
}

// deleteOne deletes an acknowledged batch.
func (l *ledger) deleteOne(ctx context.Context, t *catalog.Table) {
	l.mu.Lock()
	var b *batch
	var first int64
	for id, one := range l.batches {
		if one.added && !one.dropped && id/perAppend%3 == 0 {
			b, first = one, id
			break
		}
	}
	if b != nil {
		b.dropped = true
	}
	l.mu.Unlock()
	if b == nil {
		pause(ctx, 10*time.Millisecond)
		return
	}
	err := t.Refresh(ctx) // rows that this state lacks would stay
	if err != nil {
		l.book(err, nil)
		return
	}
	where, err := filter.Parse(fmt.Sprintf("id BETWEEN %d AND %d", first, first+perAppend-1))
	if err == nil {
		_, err = t.Delete(ctx, where, catalog.DeleteOptions{})
	}
	l.book(err, func() { b.deleted = true })
}

func (l *ledger) book(err error, done func()) {
	if err != nil {
		l.unknown.Add(1)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	done()
	l.done.Add(1)
}

// settle compares the table with the ledger, twice: as it is, and after all jobs were delivered again and everything was compacted.
func (l *ledger) settle(t *testing.T, tbl *catalog.Table) {
	t.Helper()
	if err := tbl.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.compare(t, tbl, false)
	for first, b := range l.batches {
		if b.added || b.dropped {
			continue
		}
		if _, err := tbl.Append(t.Context(), rows(tbl.Schema(), first), catalog.IngestOptions{JobID: b.job}); err != nil {
			t.Errorf("%s delivered again: %v", b.job, err)
			continue
		}
		b.added = true
	}
	if _, err := compaction.Compact(t.Context(), tbl, compaction.Policy{}, compaction.Options{Log: slog.New(slog.DiscardHandler)}); err != nil {
		t.Errorf("compaction at the end: %v", err)
	}
	l.compare(t, tbl, true)
	v, err := tbl.Verify(t.Context(), catalog.VerifyOptions{Data: catalog.Subset{Percent: 100}})
	if err != nil || !v.OK {
		t.Errorf("verify: %+v, %v", v, err)
	}
}

// compare asserts that each batch is there whole and once, or not at all where it may be.
func (l *ledger) compare(t *testing.T, tbl *catalog.Table, all bool) {
	t.Helper()
	rows := map[int64]int{}
	for b, err := range tbl.Scan(t.Context(), catalog.ScanOptions{}, nil) {
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range b.Column(0).(*array.Int64).Int64Values() {
			rows[id]++
		}
	}
	for first, b := range l.batches {
		there := 0
		for id := first; id < first+perAppend; id++ {
			if rows[id] > 1 {
				t.Errorf("row %d is there %d times", id, rows[id])
			}
			there += rows[id]
			delete(rows, id)
		}
		switch {
		case there != 0 && there != perAppend:
			t.Errorf("%s: %d of %d rows are there", b.job, there, perAppend)
		case b.deleted && there != 0:
			t.Errorf("%s was deleted, and is there", b.job)
		case b.added && !b.dropped && there == 0:
			t.Errorf("%s was acknowledged, and is lost", b.job)
		case all && !b.dropped && there == 0:
			t.Errorf("%s was delivered again, and is lost", b.job)
		}
	}
	if len(rows) != 0 {
		t.Errorf("%d rows are there that nobody has added", len(rows))
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// rows are those of the batch of the ids from first on.
func rows(s *schema.Schema, first int64) array.RecordReader {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
	defer b.Release()
	for i := range int64(perAppend) {
		b.Field(0).(*array.Int64Builder).Append(first + i)
	}
	r, err := array.NewRecordReader(b.Schema(), []arrow.RecordBatch{b.NewRecordBatch()})
	if err != nil {
		panic(err)
	}
	return r
}
