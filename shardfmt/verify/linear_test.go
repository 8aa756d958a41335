package verify

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// work is what one verification costs.
type work struct{ requests, read, allocated int64 }

// workOf writes a shard of so many stripes of ten records with so many fields, and verifies it.
func workOf(t *testing.T, stripes, fields int) work {
	t.Helper()
	s, values := &schema.Schema{}, make([]arrow.Array, fields)
	for i := range fields {
		s.Fields = append(s.Fields, &schema.Node{Name: fmt.Sprintf("c%d", i), Basic: schema.Int64, Signed: true, Nullable: true})
		b := array.NewInt64Builder(memory.DefaultAllocator)
		for row := range 10 * stripes {
			b.Append(int64(row * i))
		}
		values[i] = b.NewArray()
	}
	s.Number()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	url := fmt.Sprintf("mem://linear-%d-%d/s.amudai.shard", stripes, fields)
	w, err := shardfmt.NewWriter(t.Context(), client, url, s, shardfmt.WriterOptions{StripeRows: 10})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(t.Context(), array.NewRecordBatch(arrowtype.Schema(s), values, int64(10*stripes))); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := client.Counters()
	var was, is runtime.MemStats
	runtime.ReadMemStats(&was)
	r, err := Shard(t.Context(), client, url, Options{})
	runtime.ReadMemStats(&is)
	if err != nil || !r.OK {
		t.Fatalf("%v, %+v", err, r)
	}
	asked := client.Counters().Sub(before)
	return work{asked.Gets, asked.GetBytes, int64(is.TotalAlloc - was.TotalAlloc)}
}

// TestWorkIsLinear: four times the stripes, or the fields, cost about four times the requests, bytes and memory, not sixteen.
func TestWorkIsLinear(t *testing.T) {
	small := workOf(t, 5, 30)
	for _, c := range [][2]int{{20, 30}, {5, 120}} {
		large := workOf(t, c[0], c[1])
		t.Logf("5 stripes × 30 fields %+v, %d × %d %+v", small, c[0], c[1], large)
		if large.requests > 8*small.requests || large.read > 8*small.read || large.allocated > 8*small.allocated {
			t.Errorf("5 stripes × 30 fields cost %+v, %d × %d %+v", small, c[0], c[1], large)
		}
	}
}
