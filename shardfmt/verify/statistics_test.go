package verify

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/column"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// The reference cleared the presence of two lists within lists, which its statistics count as present: readers restore them, so the
// shard is whole, and the field is named by its path.
func TestClearedPresenceIsNamed(t *testing.T) {
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	url, err := client.Mount(t.Context(), "testdata/empty-bitmap.amudai.shard")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Shard(t.Context(), client, url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !r.OK || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], `stripe 0, field "x.item"`) {
		t.Errorf("%v, warnings %q", r.Errors, r.Warnings)
	}
	if err := admitAt(t.Context(), client, url, AdmitOptions{Read: ReadAll}); err != nil {
		t.Error(err)
	}
}

// What statistics state about nested fields is found under their paths; a constant is compared with the values beside it.
func TestLyingStatistics(t *testing.T) {
	s, err := schema.Parse("k: Int64, l: List<Struct<a: Int64>>")
	if err != nil {
		t.Fatal(err)
	}
	a, list := s.Fields[1].Children[0].Children[0], s.Fields[1]
	for _, c := range []struct {
		name string
		lie  func(e *column.Encoded)
		want string
	}{
		{"truth", func(*column.Encoded) {}, ""},
		{"nulls of a member", func(e *column.Encoded) {
			if e.Node == a {
				e.Descriptor.NullCount = new(uint64)
			}
		}, `field "l.item.a": 1 nulls in the blocks, the descriptor says 0`},
		{"lists", func(e *column.Encoded) {
			if e.Node == list {
				e.Descriptor.GetListStats().MaxLength = 7
			}
		}, `field "l"`},
		{"a constant of several values", func(e *column.Encoded) {
			if e.Node == s.Fields[0] {
				e.Descriptor.ConstantValue = &metapb.AnyValue{Kind: &metapb.AnyValue_I64Value{I64Value: 1}}
			}
		}, `field "k": the descriptor says that all values are`},
		{"a null constant", func(e *column.Encoded) {
			if e.Node == s.Fields[0] {
				e.Descriptor.ConstantValue = &metapb.AnyValue{Kind: &metapb.AnyValue_NullValue{}}
			}
		}, `field "k": the descriptor says that all values are`},
		{"a constant of another type", func(e *column.Encoded) {
			if e.Node == s.Fields[0] {
				e.Descriptor.ConstantValue = &metapb.AnyValue{Kind: &metapb.AnyValue_StringValue{StringValue: "1"}}
			}
		}, `field "k" (0): constant value of kind`},
		{"a constant without a kind", func(e *column.Encoded) {
			if e.Node == s.Fields[0] {
				e.Descriptor.ConstantValue = &metapb.AnyValue{}
			}
		}, `field "k" (0): constant value of kind`},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := blobio.NewClient(blobio.ClientOptions{})
			defer client.Close()
			url, err := client.Mount(t.Context(), t.TempDir()+"/x.amudai.shard")
			if err != nil {
				t.Fatal(err)
			}
			w, err := shardwriter.New(t.Context(), client, url, s, shardwriter.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var all []*column.Encoded
			for i, text := range []string{`[1,2,3]`, `[[{"a":5},{"a":6}],[{"a":null}],[]]`} {
				enc, err := column.NewEncoder(s.Fields[i], &column.Options{})
				if err != nil {
					t.Fatal(err)
				}
				values, _, err := array.FromJSON(memory.DefaultAllocator, arrowtype.Type(s.Fields[i]), strings.NewReader(text))
				if err != nil {
					t.Fatal(err)
				}
				if err := enc.Add(values); err != nil {
					t.Fatal(err)
				}
				if err := enc.Finish(func(e *column.Encoded) error { c.lie(e); all = append(all, e); return nil }); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.AddStripe(t.Context(), 3, all...); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			r, err := Shard(t.Context(), client, url, Options{})
			if err != nil {
				t.Fatal(err)
			}
			found := ""
			for _, e := range r.Errors {
				found += e.What + "\n"
			}
			if r.OK != (c.want == "") || !strings.Contains(found, c.want) {
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
}
