package column

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// A descriptor that contradicts itself hides no value that is stored, at no level of nesting, and is reported.
func TestContradictionsHideNoValues(t *testing.T) {
	nulls := func(n uint64) *uint64 { return &n }
	bounds := func(low, high int64) *metapb.RangeStats {
		return &metapb.RangeStats{MinValue: meta.Int(low), MaxValue: meta.Int(high), MinInclusive: true, MaxInclusive: true}
	}
	data := func(t *testing.T, f *form) { stream(t, f, metapb.BufferKind_DATA, []int32{1, 2, 3}) }
	presence := func(t *testing.T, f *form) { stream(t, f, metapb.BufferKind_PRESENCE, []uint8{0b101}) }
	both := func(t *testing.T, f *form) { data(t, f); presence(t, f) }
	for _, c := range []struct {
		name    string
		d       *metapb.FieldDescriptor
		buffers func(*testing.T, *form)
		want    string
		reports int
	}{
		{"all null by their count", &metapb.FieldDescriptor{NullCount: nulls(3)}, data, "1 2 3", 0}, // only counting shows it
		{"all null by their count, with bounds", &metapb.FieldDescriptor{NullCount: nulls(3), RangeStats: bounds(1, 3)}, data, "1 2 3", 1},
		{"all null by their count, some by presence", &metapb.FieldDescriptor{NullCount: nulls(3), RangeStats: bounds(1, 3)}, both, "1 (null) 3", 1},
		{"constant null, none null", &metapb.FieldDescriptor{NullCount: nulls(0), ConstantValue: meta.Null()}, data, "1 2 3", 1},
		{"constant null, some null", &metapb.FieldDescriptor{NullCount: nulls(1), ConstantValue: meta.Null()}, both, "1 (null) 3", 1},
		{"constant null with bounds", &metapb.FieldDescriptor{ConstantValue: meta.Null(), RangeStats: bounds(1, 3)}, data, "1 2 3", 1},
		{"constant, all null", &metapb.FieldDescriptor{NullCount: nulls(3), ConstantValue: meta.Int(7)}, data, "1 2 3", 1},
		{"constant, some null", &metapb.FieldDescriptor{NullCount: nulls(1), ConstantValue: meta.Int(7)}, both, "1 (null) 3", 1},
		{"constant below the bounds", &metapb.FieldDescriptor{NullCount: nulls(0), ConstantValue: meta.Int(0), RangeStats: bounds(1, 3)}, data, "1 2 3", 1},
		{"constant above the bounds", &metapb.FieldDescriptor{ConstantValue: meta.Int(7), RangeStats: bounds(1, 3)}, data, "1 2 3", 1},
		{"bounds the wrong way round", &metapb.FieldDescriptor{ConstantValue: meta.Int(2), RangeStats: bounds(3, 1)}, data, "1 2 3", 1},
		{"constant, some null, no values stored", &metapb.FieldDescriptor{NullCount: nulls(1), ConstantValue: meta.Int(7)}, presence, "7 (null) 7", 1},
		{"constant, presence alone has nulls", &metapb.FieldDescriptor{ConstantValue: meta.Int(7)}, presence, "7 (null) 7", 0},
		{"constant, nothing stored", &metapb.FieldDescriptor{NullCount: nulls(1), ConstantValue: meta.Int(7)}, func(*testing.T, *form) {}, "7 7 7", 1},
		{"no contradiction: a constant", &metapb.FieldDescriptor{NullCount: nulls(0), ConstantValue: meta.Int(2), RangeStats: bounds(2, 2)}, data, "2 2 2", 0},
		{"no contradiction: nulls", &metapb.FieldDescriptor{NullCount: nulls(3), ConstantValue: meta.Null()}, func(*testing.T, *form) {}, "(null) (null) (null)", 0},
	} {
		c.d.PositionCount = 3
		for level, node := range map[string]*schema.Node{
			"top":     {Name: "x", Basic: schema.Int32, Signed: true},
			"member":  {Name: "s", Basic: schema.Struct, Children: []*schema.Node{{Name: "x", Basic: schema.Int32, Signed: true}}},
			"element": {Name: "l", Basic: schema.List, Children: []*schema.Node{{Name: "item", Basic: schema.Int32, Signed: true}}},
		} {
			(&schema.Schema{Fields: []*schema.Node{node}}).Number()
			f := newForm()
			c.buffers(t, f)
			at, records, want := node, uint64(3), fmt.Sprintf("[%s]", c.want)
			if level != "top" {
				at = node.Children[0]
			}
			f.set(at.ID, c.d)
			switch level {
			case "member":
				f.native = new(metapb.NativeDataEncoding)
				f.set(node.ID, count(3))
				want = fmt.Sprintf("{[%s]}", c.want)
			case "element":
				f.native = new(metapb.NativeDataEncoding)
				stream(t, f, metapb.BufferKind_OFFSETS, []uint64{0, 3})
				f.set(node.ID, count(1))
				records, want = 1, fmt.Sprintf("[[%s]]", c.want)
			}
			reports := 0
			column, err := OpenChoosing(context.Background(), Field{Source: f, Node: node, Records: records}, nil, Choice{Restored: func(error) { reports++ }})
			if err != nil {
				t.Errorf("%s, %s: %v", c.name, level, err)
				continue
			}
			all := colstream.Range{Start: 0, End: records}
			if err := f.fetch(column, []colstream.Range{all}, true); err != nil {
				t.Fatal(err)
			}
			got, err := column.Read(all)
			if err != nil {
				t.Errorf("%s, %s: %v", c.name, level, err)
				continue
			}
			if text := fmt.Sprint(array.MakeFromData(got)); text != want || reports != c.reports {
				t.Errorf("%s, %s: %s, reported %d times; want %s, %d", c.name, level, text, reports, want, c.reports)
			}
		}
	}
}
