package shardfmt

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/column"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Statistics that contradict each other rule out nothing, of a stripe or of the shard; the rows that are stored are read, and the scan counts
// the contradiction.
func TestContradictionsRuleNothingOut(t *testing.T) {
	s, err := schema.Parse("k: Int64, m: Struct<v: Int64>")
	if err != nil {
		t.Fatal(err)
	}
	for name, lie := range map[string]func(d *metapb.FieldDescriptor){
		"all null":                     func(d *metapb.FieldDescriptor) { d.NullCount = &d.PositionCount },
		"a null constant":              func(d *metapb.FieldDescriptor) { d.ConstantValue = meta.Null() },
		"a constant above the bounds":  func(d *metapb.FieldDescriptor) { d.ConstantValue = meta.Int(9) },
		"a constant among nulls":       func(d *metapb.FieldDescriptor) { d.ConstantValue, d.NullCount = meta.Int(2), new(uint64(1)) },
		"bounds the wrong way round":   func(d *metapb.FieldDescriptor) { d.RangeStats.MinValue = meta.Int(9) },
		"all null, and a constant too": func(d *metapb.FieldDescriptor) { d.ConstantValue, d.NullCount = meta.Int(2), &d.PositionCount },
	} {
		t.Run(name, func(t *testing.T) {
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
			for i, text := range []string{`[1,2,3]`, `[{"v":1},{"v":2},{"v":3}]`} {
				enc, err := column.NewEncoder(s.Fields[i], &column.Options{})
				if err != nil {
					t.Fatal(err)
				}
				values, _, err := array.FromJSON(memory.DefaultAllocator, arrowtype.Type(s.Fields[i]), strings.NewReader(text))
				if err == nil {
					err = enc.Add(values)
				}
				if err == nil {
					err = enc.Finish(func(e *column.Encoded) error {
						if e.Node.Basic == schema.Int64 {
							lie(e.Descriptor)
						}
						all = append(all, e)
						return nil
					})
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := w.AddStripe(t.Context(), 3, all...); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			shard, err := Open(t.Context(), client, url, OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for where, want := range map[string]int64{"": 3, "k = 2": 1, "k > 1": 2, "k IS NOT NULL": 3, "k IS NULL": 0, "m.v = 3": 1, "m.v < 3": 2, "k = 7": 0} {
				var stats ScanStats
				o := ScanOptions{Stats: &stats}
				if where != "" {
					p, err := filter.Parse(where)
					if err == nil {
						o.Filter, err = filter.Bind(p, s)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				rows := int64(0)
				for b, err := range shard.Scan(t.Context(), o) {
					if err != nil {
						t.Fatal(err)
					}
					rows += b.NumRows()
				}
				if rows != want {
					t.Errorf("%q: %d rows, want %d", where, rows, want)
				}
				if where == "" && stats.Contradictions != 2 {
					t.Errorf("%d contradictions counted", stats.Contradictions)
				}
			}
			d, err := shard.Describe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			k := d.Fields[s.Fields[0].ID]
			if text := fmt.Sprint(k.Nulls, k.Min, k.Max); text != "<nil> <nil> <nil>" {
				t.Errorf("an entry of the table would have %s", text)
			}
		})
	}
}
