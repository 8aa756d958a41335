package shardfmt

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/field"
	"github.com/shardcat/shardcat/shardfmt/meta"
	"github.com/shardcat/shardcat/shardfmt/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// A shard describes ten thousand million records and a terabyte of values. It is sparse: every stripe's value is
// a constant, so that only the metadata exists.
func TestTenThousandMillionRecords(t *testing.T) {
	const stripes, records = 1000, 10_000_000
	ctx := context.Background()
	sp := blobio.NewClient()
	defer sp.Close()
	s, err := schema.Parse("v: Int64")
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(ctx, sp, "mem://huge/s.amudai.shard", s, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range stripes {
		zero, raw := uint64(0), uint64(100*records)
		bound := meta.Int(int64(i))
		e := &field.Encoded{Node: s.Fields[0], Descriptor: &metapb.FieldDescriptor{
			PositionCount: records, NullCount: &zero, ConstantValue: bound, RawDataSize: &raw,
			RangeStats: &metapb.RangeStats{MinValue: bound, MinInclusive: true, MaxValue: bound, MaxInclusive: true},
		}}
		if err := w.out.add(&stripe{records: records, fields: []*field.Encoded{e}}); err != nil {
			t.Fatal(err)
		}
	}
	out, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	sh := open(t, sp, out.URL, out.Size)
	if raw := sh.Root().Directory().GetRawDataSize(); sh.Records() != 10_000_000_000 || raw != 1_000_000_000_000 {
		t.Errorf("%d records, %d bytes", sh.Records(), raw)
	}
	b := readAll(t, sh, ScanOptions{Start: 9_990_000_000 - 1, End: 9_990_000_000 + 1})
	if len(b) != 2 || b[0].Column(0).(*array.Int64).Value(0) != 998 || b[1].Column(0).(*array.Int64).Value(0) != 999 {
		t.Errorf("got %v", b)
	}
	var st ScanStats
	for b, err := range sh.Scan(ctx, ScanOptions{Filter: bind(t, sh, "v = 500"), Stats: &st}) {
		if err != nil || b.Column(0).(*array.Int64).Value(0) != 500 {
			t.Fatalf("%v %v", b, err)
		}
		break
	}
	if st.StripesPruned != stripes-1 {
		t.Errorf("%+v", st)
	}
}
