package compaction

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

const (
	// benchShards is the size of the table, unless SHARDCAT_BENCH_ENTRIES states another: goal P8 has 1,000,000.
	benchShards = 20_000
	// benchCommit is how many of them one commit adds.
	benchCommit = 20_000
)

// BenchmarkManyShards plans over a table of many shards with three columns each: a scan for a thousandth of its rows, a
// compaction, a drop by age and an expiry. "read" reads the entries and does nothing with them: what a plan takes beyond
// it is the figure of goal P8. MB is how far the heap grew at its peak, cpu-s the processor time of the process.
func BenchmarkManyShards(b *testing.B) {
	shards, _ := strconv.Atoi(os.Getenv("SHARDCAT_BENCH_ENTRIES"))
	shards = cmp.Or(shards, benchShards)
	tbl := benchTable(b, shards)
	where, err := filter.Parse(fmt.Sprintf("id >= %d AND id < %d", shards/2, shards/2+shards/1000))
	if err != nil {
		b.Fatal(err)
	}
	read := func() (int, error) {
		n := 0
		for _, err := range tbl.BriefEntries(ctx, catalog.At{}, []int{1, 2}) {
			if err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	}
	if _, err := read(); err != nil { // what is cached is there
		b.Fatal(err)
	}
	for _, op := range []struct {
		name string
		want int
		do   func() (int, error)
	}{
		{"read", shards, read},
		{"scan", shards / 1000, func() (int, error) {
			p, err := tbl.Plan(ctx, catalog.ScanOptions{Where: where})
			return len(p.Shards), err
		}},
		{"compact", shards, func() (int, error) {
			p, err := NewPlan(ctx, tbl, Policy{})
			return p.Shards, err
		}},
		{"drop", shards, func() (int, error) {
			d, err := tbl.DropOlder(ctx, time.Hour, catalog.DeleteOptions{DryRun: true})
			return d.ShardsRemoved, err
		}},
		{"expire", (shards+benchCommit-1)/benchCommit - 1, func() (int, error) {
			p, err := tbl.PlanExpire(catalog.ExpireOptions{Age: 1})
			return len(p.Snapshots), err
		}},
	} {
		b.Run(op.name, func(b *testing.B) {
			b.ReportAllocs()
			peak, began := watchHeap(), processorTime()
			for b.Loop() {
				if n, err := op.do(); n != op.want || err != nil {
					b.Fatalf("%d, not %d: %v", n, op.want, err)
				}
			}
			b.ReportMetric(float64(peak())/1e6, "MB")
			b.ReportMetric((processorTime()-began).Seconds()/float64(b.N), "cpu-s/op")
		})
	}
}

// processorTime is that of the process: beside other work it states more than a clock does.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// watchHeap begins to watch the bytes of live and dead objects; the result ends it and reports by how much they grew at most.
func watchHeap() func() uint64 {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	heap := func() uint64 { metrics.Read(sample); return sample[0].Value.Uint64() }
	before, most := heap(), uint64(0)
	var ended atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !ended.Load() {
			most = max(most, heap())
			time.Sleep(time.Millisecond)
		}
	}()
	return func() uint64 {
		ended.Store(true)
		<-done
		return max(most, before) - before
	}
}

// benchTable is a table of made-up entries, whose manifests are real.
func benchTable(b *testing.B, shards int) *catalog.Table {
	b.Helper()
	dir := b.TempDir()
	c, err := catalog.Open(ctx, catalog.Options{URI: "sqlite:" + dir + "/catalog.db", Warehouse: dir + "/wh"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	t, err := c.Create(ctx, name, catalog.CreateOptions{Schema: fields(), CreateNamespace: true})
	if err != nil {
		b.Fatal(err)
	}
	for from := 0; from < shards; from += benchCommit {
		benchAppend(b, t, from, min(shards, from+benchCommit))
	}
	return t
}
