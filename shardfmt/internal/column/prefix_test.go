package column

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// bitsOf packs bits, the lowest of a byte first.
func bitsOf(n int, set func(i int) bool) []uint8 {
	out := make([]uint8, (n+7)/8)
	for i := range n {
		if set(i) {
			out[i/8] |= 1 << (i % 8)
		}
	}
	return out
}

// replace gives the field a bit buffer in place of the one it has.
func replace(t *testing.T, o *object, id uint32, kind metapb.BufferKind, bits []uint8) *form {
	f := &form{object: *o, native: o.fields[id].Encodings[0].GetNative()}
	f.native.Buffers = slices.DeleteFunc(f.native.Buffers, func(b *metapb.EncodedBuffer) bool { return b.Kind == kind })
	stream(t, f, kind, bits)
	return f
}

// The reference clears the bits before an empty array, if all of them are set; statistics count what was written.
func TestClearedPrefixIsRestored(t *testing.T) {
	rows := map[string]string{
		"List<Int64>":             "[7]",
		"List<String>":            "[]",
		"Map<String, Int64>":      `[{"key":"a","value":1}]`,
		"FixedSizeList(2)<Int64>": "[1,2]",
		"Struct<a: Int64>":        `{"a":5}`,
		"Boolean":                 "true",
	}
	for typ, present := range rows {
		for _, c := range []struct{ run, rest, nulls int }{{3, 0, 0}, {9, 0, 0}, {3, 20, 0}, {1, 5, 1}, {70, 30, 30}, {11, 90, 7}, {150_000, 9, 2}} {
			if c.run > 100 && typ != "List<Int64>" && typ != "Boolean" {
				continue
			}
			s, err := schema.Parse("x: " + typ)
			if err != nil {
				t.Fatal(err)
			}
			node, n := s.Fields[0], c.run+c.rest
			isNull := func(i int) bool { return i >= c.run && i < c.run+c.nulls }
			var text strings.Builder
			for i := range n {
				text.WriteString(map[bool]string{true: ",", false: "["}[i > 0])
				text.WriteString(map[bool]string{true: "null", false: present}[isNull(i)])
			}
			want, _, err := array.FromJSON(memory.DefaultAllocator, arrowtype.Type(node), strings.NewReader(text.String()+"]"))
			if err != nil {
				t.Fatal(typ, err)
			}
			o := store(t, node, want, &Options{}, 1)
			if len(o.fields[node.ID].Encodings) == 0 {
				o.fields[node.ID].Encodings = []*metapb.DataEncoding{native(new(metapb.NativeDataEncoding))}
			}
			cleared := replace(t, o, node.ID, metapb.BufferKind_PRESENCE, bitsOf(n, func(i int) bool { return i >= c.run && !isNull(i) }))
			if typ == "Boolean" {
				o.fields[node.ID].Field.ConstantValue = nil
				cleared = replace(t, &cleared.object, node.ID, metapb.BufferKind_DATA, bitsOf(n, func(i int) bool { return i >= c.run && !isNull(i) }))
			}
			all := colstream.Range{Start: 0, End: uint64(n)}
			for _, r := range []colstream.Range{all, {Start: 1, End: all.End}, {Start: all.End - 1, End: all.End}, {Start: uint64(c.run) - 1, End: uint64(min(n, c.run+2))}} {
				cleared.check(t, node, want, r)
			}
			reported := 0
			column, err := OpenChoosing(context.Background(), Field{Source: cleared, Node: node, Records: uint64(n)}, nil, Choice{Restored: func(error) { reported++ }, Audit: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := cleared.fetch(column, []colstream.Range{all}, true); err != nil {
				t.Fatal(err)
			}
			if _, err := column.Read(all); err != nil || reported == 0 {
				t.Errorf("%s of %v: reported %d times, %v", typ, c, reported, err)
			}
		}
	}
}

// Bits that are not the first ones, or more than the leading clear ones, are read as they are stored, unless nothing is null at all.
func TestPresenceThatStatisticsContradict(t *testing.T) {
	s, err := schema.Parse("x: Struct<a: Int64>")
	if err != nil {
		t.Fatal(err)
	}
	node := s.Fields[0]
	for _, c := range []struct {
		stored string // 1 is present
		nulls  uint64 // by the statistics
		want   string
	}{
		{"0101", 2, "0101"}, // no contradiction
		{"0101", 3, "0101"}, // more nulls are stated
		{"0101", 1, "1101"},
		{"1010", 1, "1010"},
		{"01001", 1, "01001"},
		{"00101", 2, "10101"},
		{"00101", 1, "11101"},
		{"1010", 0, "1111"},
		{"0000", 4, "0000"},
	} {
		n := len(c.stored)
		rows := strings.Split(strings.Repeat(`{"a":1} `, n), " ")[:n]
		a, _, err := array.FromJSON(memory.DefaultAllocator, arrowtype.Type(node), strings.NewReader("["+strings.Join(rows, ",")+"]"))
		if err != nil {
			t.Fatal(err)
		}
		o := store(t, node, a, &Options{}, 1)
		o.fields[node.ID].Field.NullCount = &c.nulls
		if len(o.fields[node.ID].Encodings) == 0 {
			o.fields[node.ID].Encodings = []*metapb.DataEncoding{native(new(metapb.NativeDataEncoding))}
		}
		f := replace(t, o, node.ID, metapb.BufferKind_PRESENCE, bitsOf(n, func(i int) bool { return c.stored[i] == '1' }))
		got, err := f.read(node, uint64(n))
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if got.IsValid(i) != (c.want[i] == '1') {
				t.Errorf("%s with %d nulls: position %d is read as valid=%v, want %s", c.stored, c.nulls, i, got.IsValid(i), c.want)
			}
		}
	}
}
