package shardfmt_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

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
	sp := blobio.NewClient()
	t.Cleanup(func() { sp.Close() })
	url := "file://" + t.TempDir() + "/s.amudai.shard"
	writePaths(t, sp, url, rand.New(rand.NewPCG(15, 16)))
	shard, err := shardfmt.Open(context.Background(), sp, url, shardfmt.OpenOptions{})
	require.NoError(t, err)
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
		require.NoError(t, err)
		kept = append(kept, b)
	}
	return kept
}

// Scans that use memory again, one after the other and side by side, in the memory of one another, yield what a scan without
// yields, and never touch a batch that may be kept.
func TestMemoryOfScansIsApart(t *testing.T) {
	shard := pathShard(t)
	e, err := filter.Parse("small < 900")
	require.NoError(t, err)
	s, err := shard.Schema(context.Background())
	require.NoError(t, err)
	bound, err := filter.Bind(e, s)
	require.NoError(t, err)
	for _, o := range []shardfmt.ScanOptions{{Workers: 1}, {Workers: 3}, {Workers: 2, Filter: bound}} {
		o.BatchRows = 1000
		kept, before := keptBatches(t, shard, o), keptBatches(t, shard, o)
		o.ReuseBatches = true
		for range 2 {
			n := 0
			for b, err := range shard.Scan(context.Background(), o) {
				require.NoError(t, err)
				k := 0
				for c, err := range shard.Scan(context.Background(), o) {
					require.NoError(t, err)
					require.True(t, sameBatch(kept[k], c), "batch %d of a scan within one", k)
					if k++; n%3 > 0 && k == 2 {
						break
					}
				}
				require.True(t, sameBatch(kept[n], b), "batch %d", n)
				n++
			}
			require.Len(t, kept, n)
		}
		for i := range kept {
			require.True(t, sameBatch(before[i], kept[i]), "batch %d changed after it was kept", i)
		}
	}
}

// The last batch of a scan that its caller ends stays valid: no next one was asked for.
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
				require.NoError(t, err)
				if last = b; n == at {
					break
				}
				n++
			}
			require.True(t, sameBatch(kept[at], last), "batch %d", at)
		}
	}
}
