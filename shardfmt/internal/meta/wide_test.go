package meta

import (
	"context"
	"fmt"
	"math"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/schemawire"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// wideRoot is the root of a shard with many fields and one stripe, laid out as writers do.
func wideRoot(fields int) []byte {
	s := new(schema.Schema)
	for i := range fields {
		s.Fields = append(s.Fields, &schema.Node{Name: fmt.Sprintf("field%d", i), Basic: schema.Int64, Signed: true})
	}
	s.Number()
	b := NewRootBuilder()
	refs := make([]*metapb.DataRef, fields)
	for i := range refs {
		start := uint64(64 * (i + 1))
		refs[i] = b.Add(&metapb.StripeFieldDescriptor{
			Field: &metapb.FieldDescriptor{PositionCount: 1000, NullCount: proto.Uint64(0), RawDataSize: proto.Uint64(8000),
				RangeStats: &metapb.RangeStats{MinValue: Int(0), MinInclusive: true, MaxValue: Int(int64(i)), MaxInclusive: true}},
			Encodings: []*metapb.DataEncoding{{Kind: &metapb.DataEncoding_Native{Native: &metapb.NativeDataEncoding{Buffers: []*metapb.EncodedBuffer{{
				Buffer: NewRef("00112233445566778899aabbccddeeff.amudai.stripe", start, start+64), BlockMap: SelfRef(start+8, start+64)}}}}}},
		})
	}
	dir := &metapb.ShardDirectory{TotalRecordCount: 1000, StripeCount: 1}
	dir.StripeListRef = b.Add(&metapb.StripeList{Stripes: []*metapb.StripeDirectory{{FieldListRef: b.Add(RefsOf(refs)), TotalRecordCount: 1000}}})
	dir.UrlListRef = b.Add(&metapb.UrlList{Urls: []string{"00112233445566778899aabbccddeeff.amudai.stripe"}})
	dir.FieldListRef = b.Add(RefsOf(make([]*metapb.DataRef, fields)))
	dir.SchemaRef = b.AddPayload(schemawire.Marshal(s))
	return b.Finish(dir)
}

// readTwo opens a wide shard and reads two of its fields by name.
func readTwo(ctx context.Context, st *mapStore, size int64, fields int) error {
	r, err := OpenRoot(ctx, st, testURL, Options{Size: size})
	if err != nil {
		return err
	}
	v, err := r.SchemaView(ctx)
	if err != nil {
		return err
	}
	var ids []uint32
	for _, name := range []string{"field7", fmt.Sprint("field", fields-1)} {
		f, err := v.FieldByName(name)
		if err != nil || f == nil || f.Name != name {
			return fmt.Errorf("%s: %v, %w", name, f, err)
		}
		ids = append(ids, f.ID)
	}
	if err := r.LoadFields(ctx, []int{0}, ids); err != nil {
		return err
	}
	for _, id := range ids {
		d, _, err := r.StripeField(ctx, 0, id)
		if err != nil || d.Field.RangeStats.MaxValue.GetI64Value() != int64(id) {
			return fmt.Errorf("field %d: %v, %w", id, d, err)
		}
	}
	return nil
}

// TestTwoOfTenThousand: two fields of 10,000 are read with at most 1 MiB and a handful of requests, and
// without decoding the others: what is allocated beside the bytes read does not grow with them.
func TestTwoOfTenThousand(t *testing.T) {
	ctx := context.Background()
	allocations := map[int]float64{}
	for _, fields := range []int{10_000, 50_000} {
		root := wideRoot(fields)
		st := &mapStore{objects: map[string][]byte{testURL: root}}
		if err := readTwo(ctx, st, int64(len(root)), fields); err != nil {
			t.Fatal(err)
		}
		if fields == 10_000 {
			if a, b := st.bytes.Load(), int64(1<<20); a > b {
				t.Fatalf("st.bytes.Load() is %v, want at most %v", a, b)
			}
		}
		if a, b := st.gets.Load(), int64(5); a > b {
			t.Fatalf("st.gets.Load() is %v, want at most %v", a, b)
		}
		allocations[fields] = testing.AllocsPerRun(5, func() {
			if err := readTwo(ctx, st, int64(len(root)), fields); err != nil {
				t.Fatal(err)
			}
		})
	}
	if want, got := allocations[10_000], allocations[50_000]; math.Abs(got-want) > 5 {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func BenchmarkTwoOfTenThousand(b *testing.B) {
	root := wideRoot(10_000)
	st := &mapStore{objects: map[string][]byte{testURL: root}}
	b.ReportAllocs()
	for b.Loop() {
		if err := readTwo(context.Background(), st, int64(len(root)), 10_000); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(st.gets.Load())/float64(b.N), "gets/op")
	b.ReportMetric(float64(st.bytes.Load())/float64(b.N), "read-B/op")
}
