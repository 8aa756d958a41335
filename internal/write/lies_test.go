package write_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/field"
	"github.com/shardcat/shardcat/internal/stats"
	"github.com/shardcat/shardcat/internal/write"
	"github.com/shardcat/shardcat/shardfmt/meta"
	"github.com/shardcat/shardcat/shardfmt/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

// Statistics that do not hold for the data make a shard corrupt, by the name of what lies.
func TestStatisticsThatLie(t *testing.T) {
	for _, c := range []struct {
		name, want string
		lie        func(d *metapb.FieldDescriptor)
	}{
		{"truth", "", func(*metapb.FieldDescriptor) {}},
		{"least", "below the least value", func(d *metapb.FieldDescriptor) { d.RangeStats.MinValue = meta.Int(1) }},
		{"greatest", "above the greatest value", func(d *metapb.FieldDescriptor) { d.RangeStats.MaxValue = meta.Int(1998) }},
		{"exclusive", "above the greatest value", func(d *metapb.FieldDescriptor) { d.RangeStats.MaxInclusive = false }},
		{"nulls", "the descriptor says", func(d *metapb.FieldDescriptor) { *d.NullCount++ }},
		{"filter", "not in the Bloom filter", func(d *metapb.FieldDescriptor) { clear(d.MembershipFilters.Sbbf.Data) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := blobio.NewClient()
			defer client.Close()
			s, err := schema.Parse("v: Int64")
			if err != nil {
				t.Fatal(err)
			}
			w, err := write.New(t.Context(), client, "mem://lies-"+c.name+"/s.amudai.shard", s, write.Options{})
			if err != nil {
				t.Fatal(err)
			}
			o := field.Options{Stats: func(*schema.Node) stats.Options { return stats.Options{Bloom: stats.BloomAlways} }}
			enc, err := field.NewEncoder(s.Fields[0], &o)
			if err != nil {
				t.Fatal(err)
			}
			b := array.NewInt64Builder(memory.DefaultAllocator)
			for i := range int64(2000) {
				b.Append(i)
			}
			if err := enc.Add(b.NewArray()); err != nil {
				t.Fatal(err)
			}
			var fields []*field.Encoded
			if err := enc.Finish(func(e *field.Encoded) error { fields = append(fields, e); return nil }); err != nil {
				t.Fatal(err)
			}
			c.lie(fields[0].Descriptor)
			if err := w.AddStripe(t.Context(), 2000, fields...); err != nil {
				t.Fatal(err)
			}
			out, err := w.Close(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			r, err := verify.Shard(t.Context(), client, out.URL, verify.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" != r.OK || !r.OK && !strings.Contains(r.Errors[0].What, c.want) {
				t.Errorf("%+v", r.Errors)
			}
		})
	}
}
