package compaction

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/testkit/fakeclock"
)

// twoGroups is a table of two groups, by their months. The root of one shard of the first is gone or damaged.
func twoGroups(t *testing.T, g *ground, damage func(root []byte) []byte) *catalog.Table {
	t.Helper()
	tbl := g.create()
	for i := range 4 {
		when := time.Date(2024, time.Month(1+i/2), 1, 0, i, 0, 0, time.UTC)
		if _, err := tbl.Ingest(ctx, rows(10*i, 10), catalog.IngestOptions{CreationTime: when}); err != nil {
			t.Fatal(err)
		}
	}
	plan, err := NewPlan(ctx, tbl, Policy{})
	if err != nil || len(plan.Groups) != 2 {
		t.Fatalf("%+v, %v", plan, err)
	}
	victim := plan.Groups[0].Inputs.Paths()[0]
	text, _, err := tbl.Catalog().Client().ReadAll(ctx, victim, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if err := tbl.Catalog().Client().Delete(ctx, victim, ""); err != nil {
		t.Fatal(err)
	}
	if damaged := damage(text); damaged != nil {
		if err := tbl.Catalog().Client().Put(ctx, victim, damaged); err != nil {
			t.Fatal(err)
		}
	}
	return tbl
}

// A group that fails is left alone for a delay that doubles, which a restarted service knows; the other groups and the table go on.
func TestFailingGroupIsQuarantined(t *testing.T) {
	g := newGround(t)
	tbl := twoGroups(t, g, func(root []byte) []byte { return root })
	plan, err := NewPlan(ctx, tbl, Policy{})
	if err != nil {
		t.Fatal(err)
	}
	sick := &deniedBucket{Bucket: memblob.Open(g.bucket), key: strings.TrimPrefix(plan.Groups[0].Inputs.Paths()[0], "mem://"+g.bucket+"/")}
	sick.denied.Store(true)
	clock := fakeclock.New(time.Now())
	var mu sync.Mutex
	told := 0
	once := func() (Run, TableStatus) {
		s, runs, stop := serve(t, g.openOver(sick), ServiceOptions{Now: clock.Now, Overrides: Overrides{"*": {"collect": "never"}}, Failed: func(TableStatus) { mu.Lock(); told++; mu.Unlock() }})
		run := await(t, runs, 1)[0]
		st := statusOf(t, s, name)
		stop()
		return run, st
	}
	run, st := once()
	if run.Error != "" || len(run.Results) != 1 || len(run.Failed) != 1 || run.Failed[0].Times != 1 || run.Failed[0].Halts {
		t.Fatalf("%+v", run)
	}
	if st.State != Waiting || st.Quarantined != 1 || st.QuarantinedShards != 2 || st.BacklogShards != 0 || st.Problem == "" || st.Remedy == "" || st.Shards != 3 {
		t.Errorf("%+v", st)
	}
	if run, st = once(); len(run.Failed) != 0 || st.Quarantined != 1 || told != 1 {
		t.Errorf("within the delay: %+v, %+v, told %d times", run, st, told)
	}
	var delays []time.Duration
	for range 3 {
		q, err := LoadQuarantine(ctx, tbl, clock.Now)
		if err != nil || len(q.Groups()) != 1 {
			t.Fatalf("%+v, %v", q, err)
		}
		until := q.Groups()[0].Until
		delays = append(delays, until.Sub(clock.Now()).Round(time.Minute))
		clock.Advance(until.Sub(clock.Now()) + time.Second)
		if run, _ = once(); len(run.Failed) != 1 || told != 1 {
			t.Errorf("after the delay: %+v, told %d times", run, told)
		}
	}
	if !slices.Equal(delays, []time.Duration{minQuarantine, 2 * minQuarantine, 4 * minQuarantine}) {
		t.Errorf("delays %v", delays)
	}
	// Repaired, and after its delay, it is compacted, and nothing of the quarantine is left.
	sick.denied.Store(false)
	clock.Advance(maxQuarantine)
	if run, st = once(); len(run.Results) != 1 || st.Quarantined != 0 || st.Problem != "" || st.Shards != 2 {
		t.Errorf("%+v, %+v", run, st)
	}
	if got := contents(t, g.load(nil)); len(got) != 40 {
		t.Errorf("%d rows", len(got))
	}
}

// What failed before the service was stopped is still reported.
func TestFailureIsToldWhileTheServiceEnds(t *testing.T) {
	g := newGround(t)
	twoGroups(t, g, func([]byte) []byte { return nil })
	ctx, end := context.WithCancel(t.Context())
	told := 0
	s := NewService(g.open(nil), ServiceOptions{Finished: func(Run) { end() }, Failed: func(TableStatus) { told++ }})
	if err := s.Run(ctx); err != nil || told != 1 {
		t.Errorf("told %d times, %v", told, err)
	}
}

// An input that can't be read halts the table, loudly and for the next process too, until somebody has looked; the other group is
// done all the same.
func TestCorruptInputHalts(t *testing.T) {
	g := newGround(t)
	twoGroups(t, g, func(root []byte) []byte {
		root = slices.Clone(root)
		root[len(root)/2] ^= 0x40
		return root
	})
	for i := range 2 {
		told := make(chan TableStatus, 9)
		s, runs, stop := serve(t, g.open(nil), ServiceOptions{Failed: func(st TableStatus) { told <- st }})
		run := await(t, runs, 1)[0]
		st := statusOf(t, s, name)
		if st.State != Halted || !s.Halted() || !strings.HasPrefix(st.Remedy, "shardcat verify") || len(run.Results) != 1-i || len(run.Failed) != 1-i {
			t.Fatalf("process %d: %+v, %+v", i, st, run)
		}
		if got := <-told; got.State != Halted {
			t.Errorf("told of %+v", got)
		}
		if i == 1 { // who resumes it has it tried at once
			if err := s.Resume(name); err != nil {
				t.Fatal(err)
			}
			if run := await(t, runs, 1)[0]; len(run.Failed) == 0 || !run.Failed[0].Halts {
				t.Errorf("%+v", run)
			}
		}
		stop()
	}
}

// unlocked is a bucket that refuses to write while a lock is held.
type unlocked struct {
	*memblob.Bucket
	t  *testing.T
	mu *sync.Mutex
}

func (b *unlocked) free() {
	if b.mu == nil {
		return
	}
	if !b.mu.TryLock() {
		b.t.Error("a lock is held over a request to the store")
		return
	}
	b.mu.Unlock()
}

// Create implements blobio.Bucket.
func (b *unlocked) Create(ctx context.Context, key string, o blobio.CreateOptions) (blobio.Writer, error) {
	b.free()
	return b.Bucket.Create(ctx, key, o)
}

// Delete implements blobio.Bucket.
func (b *unlocked) Delete(ctx context.Context, key string, o blobio.DeleteOptions) error {
	b.free()
	return b.Bucket.Delete(ctx, key, o)
}

// TestQuarantineHoldsNoLock: the caller whether a shard is held never waits for the store.
func TestQuarantineHoldsNoLock(t *testing.T) {
	g := newGround(t)
	fill(t, g.create(), 2)
	bucket := &unlocked{Bucket: memblob.Open(g.bucket), t: t}
	o := g.options()
	if err := o.Client.MountBucket("mem://"+g.bucket+"/", bucket); err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tbl, err := c.Load(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	q, err := LoadQuarantine(ctx, tbl, nil)
	if err != nil {
		t.Fatal(err)
	}
	bucket.mu = &q.mu
	for times := 1; times <= 2; times++ {
		f := Failure{Inputs: []string{"a", "b"}, Error: "why"}
		if err := q.Add(ctx, &f); err != nil || f.Times != times || !q.Holds("a") || len(q.Groups()) != 1 {
			t.Errorf("%+v, %v, %d groups", f, err, len(q.Groups()))
		}
	}
	if err := q.Settle(ctx, []string{"b"}); err != nil || q.Holds("a") || len(q.Groups()) != 0 {
		t.Errorf("%v, %d groups", err, len(q.Groups()))
	}
}
