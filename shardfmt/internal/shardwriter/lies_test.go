package shardwriter_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/internal/column"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/shardfmt/internal/stats"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

// encoded encodes one field of integers, with a Bloom filter.
func encoded(t *testing.T, s *schema.Schema, n int64, value func(i int64) int64) *column.Encoded {
	t.Helper()
	o := column.Options{Stats: func(*schema.Node) stats.Options { return stats.Options{Bloom: stats.BloomAlways} }}
	enc, err := column.NewEncoder(s.Fields[0], &o)
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewInt64Builder(memory.DefaultAllocator)
	for i := range n {
		b.Append(value(i))
	}
	if err := enc.Add(b.NewArray()); err != nil {
		t.Fatal(err)
	}
	var fields []*column.Encoded
	if err := enc.Finish(func(e *column.Encoded) error { fields = append(fields, e); return nil }); err != nil {
		t.Fatal(err)
	}
	return fields[0]
}

// verified writes a shard of one stripe and gives what is found in it first, "" if it is whole.
func verified(t *testing.T, s *schema.Schema, name string, n uint64, f *column.Encoded) string {
	t.Helper()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	w, err := shardwriter.New(t.Context(), client, "mem://lies-"+name+"/s.amudai.shard", s, shardwriter.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.AddStripe(t.Context(), n, f); err != nil {
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
	if r.OK {
		return ""
	}
	return r.Errors[0].What
}

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
			s, err := schema.Parse("v: Int64")
			if err != nil {
				t.Fatal(err)
			}
			f := encoded(t, s, 2000, func(i int64) int64 { return i })
			c.lie(f.Descriptor)
			if what := verified(t, s, c.name, 2000, f); c.want == "" != (what == "") || !strings.Contains(what, c.want) {
				t.Error(what)
			}
		})
	}
}

// A range index that does not hold for the values of one of its blocks makes a shard corrupt: here it is that of other values, which have the same range.
func TestRangeIndexThatLies(t *testing.T) {
	s, err := schema.Parse("v: Int64")
	if err != nil {
		t.Fatal(err)
	}
	const n, odd = 200_000, 123_456 // values scattered so that an index is written
	scattered := func(i int64) int64 { return i / 1000 * 1_000_003 }
	for name, c := range map[string]struct {
		value int64
		want  string
	}{
		"truth": {scattered(odd), ""},
		"below": {scattered(odd) - 1, "position 123456 of the stripe is below the least value of its block of the range index"},
		"above": {scattered(odd) + 1, "position 123456 of the stripe is above the greatest value of its block of the range index"},
	} {
		of := func(value int64) *column.Encoded {
			return encoded(t, s, n, func(i int64) int64 {
				if i == odd {
					return value
				}
				return scattered(i)
			})
		}
		f, other := of(c.value), of(scattered(odd))
		at := slices.IndexFunc(f.Buffers, isRangeIndex)
		f.Buffers[at] = other.Buffers[slices.IndexFunc(other.Buffers, isRangeIndex)]
		if what := verified(t, s, "index-"+name, n, f); !strings.HasSuffix(what, c.want) || c.want == "" != (what == "") {
			t.Errorf("%s: %q", name, what)
		}
	}
}

func isRangeIndex(b column.Buffer) bool { return b.Meta.Kind == metapb.BufferKind_RANGE_INDEX }
