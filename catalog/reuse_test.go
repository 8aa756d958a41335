package catalog

import (
	"context"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/catalog/internal/projection"
)

// Batches of which the memory is used again hold what kept ones hold, for as long as nobody requests the next; those that are
// sorted are kept.
func TestReusedBatches(t *testing.T) {
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	for i := range 6 {
		ingest(t, tbl, IngestOptions{StripeRows: 1000}, rows(1000*i, 1000))
	}
	remove(t, tbl, "small = 7")
	order, err := ParseOrder("small, id desc")
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]ScanOptions{
		"all":     {},
		"ordered": {Ordered: true},
		"small":   {Ordered: true, BatchRows: 30},
		"filter":  {Where: where(t, "small >= 100 AND id < 5500"), BatchRows: 50},
		"columns": {Select: []string{"tags", "id"}, BatchRows: 100, Ordered: true, Offset: 333, Limit: 2000},
		"sorted":  {OrderBy: order, BatchRows: 60},
		"sampled": {Sample: 50, Seed: 7, BatchRows: 60},
	} {
		inOrder := o.Ordered || len(o.OrderBy) > 0 || o.Sample > 0
		want := scanJSON(t, tbl, o)
		var got []string
		o.ReuseBatches = true
		places := map[*byte]int{}
		for b, err := range tbl.Scan(context.Background(), o, nil) {
			if err != nil {
				t.Fatal(name, err)
			}
			if i := projection.ColumnIndex(b, "id"); b.NumRows() > 0 {
				places[unsafe.SliceData(b.Column(i).Data().Buffers()[1].Bytes())]++
			}
			first := jsonOf(t, b)
			time.Sleep(200 * time.Microsecond) // for those who would write into it
			if again := jsonOf(t, b); !slices.Equal(first, again) {
				t.Fatalf("%s: a batch changed while it was looked at", name)
			}
			got = append(got, first...)
		}
		if !inOrder {
			slices.Sort(want)
			slices.Sort(got)
		}
		if len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s: %d rows, other than the %d that are kept", name, len(got), len(want))
		}
		again := 0
		for _, n := range places {
			again = max(again, n)
		}
		if name == "small" && again < 8 {
			t.Errorf("no memory was used more than %d times", again)
		}
	}
}

func jsonOf(t *testing.T, b arrow.RecordBatch) []string {
	t.Helper()
	out := make([]string, b.NumRows())
	s := array.RecordToStructArray(b)
	defer s.Release()
	for i := range out {
		out[i] = s.ValueStr(i)
	}
	return out
}
