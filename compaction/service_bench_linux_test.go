package compaction

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardcat/shardcat/catalog"
)

// benchTables is the number of tables, unless SHARDCAT_BENCH_TABLES states another.
const benchTables = 100

// BenchmarkManyTables lets a service look at many tables that need nothing done, each of which was loaded and planned in the round before:
// one operation is one round over all, ten minutes of the service's clock. cpu-us/table is the processor time of one look; with the default schedule of ten
// minutes, idle-% is the share of one core that so many tables cost at rest. heap-MB is what lives between two rounds, plan-cpu-s
// the processor time of the first round, which reads and plans them all.
func BenchmarkManyTables(b *testing.B) {
	n, _ := strconv.Atoi(os.Getenv("SHARDCAT_BENCH_TABLES"))
	n = cmp.Or(n, benchTables)
	dir := b.TempDir()
	c, err := catalog.Open(ctx, catalog.Options{URI: "sqlite:" + dir + "/catalog.db", Warehouse: dir + "/wh"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	for i := range n {
		name, err := catalog.ParseName(fmt.Sprintf("default.t%05d", i))
		if err != nil {
			b.Fatal(err)
		}
		t, err := c.Create(ctx, name, catalog.CreateOptions{Schema: fields(), CreateNamespace: true})
		if err != nil {
			b.Fatal(err)
		}
		benchAppend(b, t, 0, 1)
	}
	looked := make(chan struct{}, n)
	var wrong atomic.Int64
	var now atomic.Int64
	now.Store(time.Now().UnixNano())
	s := NewService(c, ServiceOptions{Now: func() time.Time { return time.Unix(0, now.Load()) }, Finished: func(r Run) {
		if r.Error != "" || len(r.Results) > 0 {
			wrong.Add(1)
		}
		looked <- struct{}{}
	}})
	round := func() {
		for range n {
			<-looked
		}
		for slices.ContainsFunc(s.Status(), func(t TableStatus) bool { return t.State == Running }) { // the last is being booked
			time.Sleep(time.Millisecond)
		}
	}
	inner, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	before := liveHeap()
	first := processorTime()
	go func() { ended <- s.Run(inner) }()
	round()
	planned := processorTime() - first
	began, rounds := processorTime(), 0
	for b.Loop() {
		now.Add(int64(10*time.Minute + 2*time.Minute)) // all are due, and once an hour read again
		s.poke()
		round()
		rounds++
	}
	look := (processorTime() - began).Seconds() / float64(rounds) / float64(n)
	b.ReportMetric(planned.Seconds(), "plan-cpu-s")
	b.ReportMetric(look*1e6, "cpu-us/table")
	b.ReportMetric(look*float64(n)/(10*time.Minute).Seconds()*100, "idle-%")
	b.ReportMetric(float64(liveHeap()-before)/1e6, "heap-MB")
	if end(); <-ended != nil || wrong.Load() > 0 {
		b.Errorf("%d looks failed or did something", wrong.Load())
	}
}

// liveHeap is what is in use after a collection.
func liveHeap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
