package shardfmt

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/bufpool"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
)

// writeRandom writes a shard of columns c0, c1, … of random numbers, in stripes of so many rows, and gives the sum of all.
func writeRandom(t *testing.T, client *blobio.Client, columns, rows, stripes int) (shard *Shard, sum int64) {
	t.Helper()
	ctx := context.Background()
	var fields []arrow.Field
	for i := range columns {
		fields = append(fields, arrow.Field{Name: fmt.Sprint("c", i), Type: arrow.PrimitiveTypes.Int64})
	}
	s, _, err := arrowtype.FromArrow(arrow.NewSchema(fields, nil))
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(ctx, client, "file://"+t.TempDir()+"/s.amudai.shard", s, WriterOptions{StripeRows: rows})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range stripes {
		b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
		for range rows {
			for i := range columns {
				v := int64(r.Uint64())
				sum += v
				b.Field(i).(*array.Int64Builder).Append(v)
			}
		}
		if err := w.Write(ctx, b.NewRecordBatch()); err != nil {
			t.Fatal(err)
		}
	}
	written, err := w.Close(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return open(t, client, written.URL, 0), sum
}

// A scan of stripes that are each as large as all the memory it may take reads them in smaller pieces, each byte about once.
func TestScanOfLargeStripes(t *testing.T) {
	const columns, rows, stripes, limit = 8, 130_000, 2, 8 << 20
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	shard, sum := writeRandom(t, client, columns, rows, stripes)
	before := client.Counters()
	for batch, err := range shard.Scan(ctx, ScanOptions{MaxMemory: limit}) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range columns {
			for _, v := range batch.Column(i).(*array.Int64).Int64Values() {
				sum -= v
			}
		}
	}
	if sum != 0 {
		t.Error("other values came out")
	}
	if got := client.Counters().Sub(before); float64(got.GetBytes) > 1.1*8*columns*rows*stripes {
		t.Errorf("%d bytes of values: %+v", 8*columns*rows*stripes, got)
	}
}

// A scan holds two windows and the batches side by side, whatever the shard, counted by what the scan is charged; and no more than
// that and a batch that is being made is live while a batch is used.
func TestScanMemoryIsBounded(t *testing.T) {
	// Windows and batches have an eighth of the limit each, and by default, where that is more, 32 and 64 MiB.
	const limit = 16 << 20
	const window, batches = limit / 8, limit / 8
	const columns, rows, stripes = 8, 130_000, 4 // of random numbers, which nothing makes smaller: 33 MB
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	shard, _ := writeRandom(t, client, columns, rows, stripes)
	for _, workers := range []int{1, 2, 4} {
		for _, expr := range []string{"", "c0 > 0"} {
			b := NewBudget(limit)
			o := ScanOptions{Workers: workers, Budget: b}
			if expr != "" {
				o.Filter = bind(t, shard, expr)
			}
			before, live, n := heapLive(), uint64(0), 0
			for _, err := range shard.Scan(t.Context(), o) {
				if err != nil {
					t.Fatal(err)
				}
				if n++; n%24 == 0 {
					live = max(live, heapLive())
				}
			}
			live -= min(live, before)
			t.Logf("%d workers, filter %q: %d batches, %d bytes charged at most, %d live", workers, expr, n, b.b.Peak(), live)
			const slack = 1 << 20 // blocks kept, block maps, bitmaps of rows
			if b.b.Peak() > 2*window+batches+slack {
				t.Errorf("%d workers, filter %q: charged %d bytes at most, two windows and the batches are %d", workers, expr,
					b.b.Peak(), 2*window+batches)
			}
			if live > 2*window+3*batches+2*slack && !raceDetector {
				t.Errorf("%d workers, filter %q: %d bytes live", workers, expr, live)
			}
		}
	}
}

// heapLive is the memory that is in use after a collection, without what is kept for scans to come.
func heapLive() uint64 {
	bufpool.Forget()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A scan of a local store, whose requests cost next to nothing, holds small windows and batches for each worker, whatever the limit: the memory of an export.
func TestLocalScansHoldLittle(t *testing.T) {
	const columns, rows, stripes = 8, 130_000, 4
	const window, batch, slack = 512 << 10, 3 << 19, 1 << 20
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	shard, _ := writeRandom(t, client, columns, rows, stripes)
	for _, workers := range []int{2, 4} {
		for _, expr := range []string{"", "c0 > 0"} {
			b := NewBudget(1 << 30)
			o := ScanOptions{Workers: workers, Budget: b}
			if expr != "" {
				o.Filter = bind(t, shard, expr)
			}
			for _, err := range shard.Scan(t.Context(), o) {
				if err != nil {
					t.Fatal(err)
				}
			}
			if most := uint64(2*workers*window + (workers+1)*batch + slack); b.b.Peak() > most {
				t.Errorf("%d workers, filter %q: charged %d bytes at most, want at most %d of stripes of %d", workers, expr, b.b.Peak(), most, 8*columns*rows)
			}
		}
	}
}
