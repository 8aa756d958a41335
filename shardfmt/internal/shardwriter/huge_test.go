package shardwriter_test

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/column"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/opened"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// A shard describes ten thousand million records and a terabyte of values. It is sparse: every stripe's value is
// a constant, so that only the metadata exists.
func TestTenThousandMillionRecords(t *testing.T) {
	const stripes, records = 1000, 10_000_000
	ctx := context.Background()
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	s, err := schema.Parse("v: Int64")
	if err != nil {
		t.Fatal(err)
	}
	w, err := shardwriter.New(ctx, sp, "mem://huge/s.amudai.shard", s, shardwriter.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range stripes {
		zero, raw := uint64(0), uint64(100*records)
		bound := meta.Int(int64(i))
		e := &column.Encoded{Node: s.Fields[0], Descriptor: &metapb.FieldDescriptor{
			PositionCount: records, NullCount: &zero, ConstantValue: bound, RawDataSize: &raw,
			RangeStats: &metapb.RangeStats{MinValue: bound, MinInclusive: true, MaxValue: bound, MaxInclusive: true},
		}}
		if err := w.AddStripe(ctx, records, e); err != nil {
			t.Fatal(err)
		}
	}
	out, err := w.Close(ctx)
	if err != nil {
		t.Fatal(err)
	}
	sh, err := shardfmt.Open(ctx, sp, out.URL, shardfmt.OpenOptions{Size: out.Size})
	if err != nil {
		t.Fatal(err)
	}
	if raw := opened.Root(sh).Directory().GetRawDataSize(); sh.Records() != 10_000_000_000 || raw != 1_000_000_000_000 {
		t.Errorf("%d records, %d bytes", sh.Records(), raw)
	}
	var b []arrow.RecordBatch
	for batch, err := range sh.Scan(ctx, shardfmt.ScanOptions{Start: 9_990_000_000 - 1, End: 9_990_000_000 + 1}) {
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, batch)
	}
	if len(b) != 2 || b[0].Column(0).(*array.Int64).Value(0) != 998 || b[1].Column(0).(*array.Int64).Value(0) != 999 {
		t.Errorf("got %v", b)
	}
	e, err := filter.Parse("v = 500")
	if err != nil {
		t.Fatal(err)
	}
	only, err := filter.Bind(e, s)
	if err != nil {
		t.Fatal(err)
	}
	var st shardfmt.ScanStats
	for b, err := range sh.Scan(ctx, shardfmt.ScanOptions{Filter: only, Stats: &st}) {
		if err != nil || b.Column(0).(*array.Int64).Value(0) != 500 {
			t.Fatalf("%v %v", b, err)
		}
		break
	}
	if st.StripesPruned != stripes-1 {
		t.Errorf("%+v", st)
	}
}
