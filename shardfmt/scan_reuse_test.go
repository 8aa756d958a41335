package shardfmt_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/bufpool"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// All tests of this package scan with memory that is spoiled when scans give it back.
func init() { bufpool.Spoil(0xA5) }

// pathShard opens a shard of all kinds of columns in several stripes.
func pathShard(t *testing.T) *shardfmt.Shard {
	t.Helper()
	sp := blobio.NewClient(blobio.ClientOptions{})
	t.Cleanup(func() { sp.Close() })
	url := "file://" + t.TempDir() + "/s.amudai.shard"
	writePaths(t, sp, url, rand.New(rand.NewPCG(15, 16)))
	shard, err := shardfmt.Open(context.Background(), sp, url, shardfmt.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return shard
}

// sameBatch compares all values; NaN is NaN.
func sameBatch(a, b arrow.RecordBatch) bool {
	return array.RecordApproxEqual(a, b, array.WithNaNsEqual(true), array.WithAbsTolerance(0))
}

// keptBatches gives the batches of a scan that may be kept.
func keptBatches(t *testing.T, shard *shardfmt.Shard, o shardfmt.ScanOptions) (kept []arrow.RecordBatch) {
	t.Helper()
	o.ReuseBatches = false
	for b, err := range shard.Scan(context.Background(), o) {
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, b)
	}
	return kept
}

// Scans that use memory again, one after the other and side by side, in the memory of one another, yield what a scan without
// yields, and never touch a batch that may be kept.
func TestMemoryOfScansIsApart(t *testing.T) {
	shard := pathShard(t)
	e, err := filter.Parse("small < 900")
	if err != nil {
		t.Fatal(err)
	}
	s, err := shard.Schema(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	bound, err := filter.Bind(e, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []shardfmt.ScanOptions{{Workers: 1}, {Workers: 3}, {Workers: 2, Filter: bound}} {
		o.BatchRows = 1000
		kept, before := keptBatches(t, shard, o), keptBatches(t, shard, o)
		o.ReuseBatches = true
		for range 2 {
			n := 0
			for b, err := range shard.Scan(context.Background(), o) {
				if err != nil {
					t.Fatal(err)
				}
				k := 0
				for c, err := range shard.Scan(context.Background(), o) {
					if err != nil {
						t.Fatal(err)
					}
					if !sameBatch(kept[k], c) {
						t.Fatalf("batch %d of a scan within one: sameBatch(kept[k], c) is false", k)
					}
					if k++; n%3 > 0 && k == 2 {
						break
					}
				}
				if !sameBatch(kept[n], b) {
					t.Fatalf("batch %d: sameBatch(kept[n], b) is false", n)
				}
				n++
			}
			if got := kept; len(got) != n {
				t.Fatalf("%d elements, want %d: %v", len(got), n, got)
			}
		}
		for i := range kept {
			if !sameBatch(before[i], kept[i]) {
				t.Fatalf("batch %d changed after it was kept: sameBatch(before[i], kept[i]) is false", i)
			}
		}
	}
}

// The last batch of a scan that its caller ends stays valid: no next one was requested.
func TestLastBatchOfEndedScan(t *testing.T) {
	shard := pathShard(t)
	for _, workers := range []int{1, 3} {
		o := shardfmt.ScanOptions{Workers: workers, BatchRows: 1000}
		kept := keptBatches(t, shard, o)
		o.ReuseBatches = true
		for at := range kept {
			var last arrow.RecordBatch
			n := 0
			for b, err := range shard.Scan(context.Background(), o) {
				if err != nil {
					t.Fatal(err)
				}
				if last = b; n == at {
					break
				}
				n++
			}
			if !sameBatch(kept[at], last) {
				t.Fatalf("batch %d: sameBatch(kept[at], last) is false", at)
			}
		}
	}
}
