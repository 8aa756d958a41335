package shardfmt

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
)

// A scan of stripes that are each as large as all the memory it may take reads them in smaller pieces, each byte about once.
func TestScanOfLargeStripes(t *testing.T) {
	const columns, rows, stripes, limit = 8, 130_000, 2, 8 << 20
	ctx := context.Background()
	client := blobio.NewClient()
	defer client.Close()
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
	r, sum := rand.New(rand.NewPCG(1, 2)), int64(0)
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
	before := client.Counters()
	shard, err := Open(ctx, client, written.URL, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
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
