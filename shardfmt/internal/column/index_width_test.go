package column

import (
	"cmp"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// A range index of the profile that requests size takes a 512th of its field, or is as wide as may be, and still bounds every value.
func TestIndexesOfSmallShare(t *testing.T) {
	const n = 100_000
	r := rand.New(rand.NewPCG(5, 6))
	node := &schema.Node{Name: "n", Basic: schema.Int64, Signed: true, Nullable: true}
	for name, make := range map[string]func(i int) (int64, bool){
		"ids":            func(i int) (int64, bool) { return int64(i), true },
		"noise":          func(i int) (int64, bool) { return int64(r.Uint32()) - 1<<31, r.IntN(2) == 0 },
		"nulls for long": func(i int) (int64, bool) { return int64(r.Uint32()) - 1<<31, i < 700 || i > 90_000 },
	} {
		b := array.NewInt64Builder(memory.DefaultAllocator)
		for i := range n {
			if v, ok := make(i); ok {
				b.Append(v)
			} else {
				b.AppendNull()
			}
		}
		want := b.NewInt64Array()
		for _, p := range []encode.Profile{encode.Balanced, encode.HighCompression, encode.MinimalSize} {
			f := store(t, node, want, &Options{Profile: p}, 3)
			stored := buffersOf(f, metapb.BufferKind_RANGE_INDEX)[0]
			x, err := colstream.ParseRangeIndex(stored, schema.Int64, 8, n, true)
			if err != nil {
				t.Fatal(err)
			}
			data := len(buffersOf(f, metapb.BufferKind_DATA)[0])
			switch {
			case p == encode.Balanced && x.BlockSize != colstream.RangeIndexBlock:
				t.Errorf("%s, balanced: %d positions a block", name, x.BlockSize)
			case p != encode.Balanced && len(stored)*indexShare > data && x.BlockSize != colstream.WidestRangeIndexBlock:
				t.Errorf("%s, %v: %d bytes of index, %d positions a block, for %d bytes", name, p, len(stored), x.BlockSize, data)
			}
			boundsEach(t, x, want)
		}
	}
}

// boundsEach checks the bounds and the counts of an index against the values.
func boundsEach(t *testing.T, x *colstream.RangeIndex, want *array.Int64) {
	t.Helper()
	for k := range x.Blocks() {
		least, greatest, any := x.Bounds(k)
		nulls := 0
		low, high := false, false
		for i := x.Range(k).Start; i < x.Range(k).End; i++ {
			if want.IsNull(int(i)) {
				nulls++
				continue
			}
			v := want.Value(int(i))
			l, g := arrow.Int64Traits.CastFromBytes(least)[0], arrow.Int64Traits.CastFromBytes(greatest)[0]
			if v < l || v > g {
				t.Fatalf("row %d: %d is not in %d to %d", i, v, l, g)
			}
			low, high = low || v == l, high || v == g
		}
		if any != (low && high) || x.Invalid != nil && int(x.Invalid[k]) != nulls {
			t.Fatalf("block %d: bounds %v that are met %v and %v; %d nulls", k, any, low, high, nulls)
		}
	}
}

// Bounds of two blocks are put together in the order of the type.
func TestOrdersOfIndexes(t *testing.T) {
	one, two := decimal.FromInt(-3), decimal.FromInt(2)
	for _, c := range []struct {
		node          schema.Node
		less, greater []byte
	}{
		{schema.Node{Basic: schema.Int8, Signed: true}, []byte{0xff}, []byte{1}},
		{schema.Node{Basic: schema.Int8}, []byte{1}, []byte{0xff}},
		{schema.Node{Basic: schema.Int16, Signed: true}, []byte{0, 0xff}, []byte{1, 0}},
		{schema.Node{Basic: schema.Int16}, []byte{1, 0}, []byte{0, 0xff}},
		{schema.Node{Basic: schema.Int32, Signed: true}, []byte{0, 0, 0, 0xff}, []byte{1, 0, 0, 0}},
		{schema.Node{Basic: schema.Int32}, []byte{1, 0, 0, 0}, []byte{0, 0, 0, 0xff}},
		{schema.Node{Basic: schema.DateTime}, []byte{1, 0, 0, 0, 0, 0, 0, 0}, []byte{0, 0, 0, 0, 0, 0, 0, 0xff}},
		{schema.Node{Basic: schema.Int64}, []byte{1, 0, 0, 0, 0, 0, 0, 0}, []byte{0, 0, 0, 0, 0, 0, 0, 0xff}},
		{schema.Node{Basic: schema.Float32}, arrow.Float32Traits.CastToBytes([]float32{-1}), arrow.Float32Traits.CastToBytes([]float32{-0.5})},
		{schema.Node{Basic: schema.Float64}, arrow.Float64Traits.CastToBytes([]float64{-1}), arrow.Float64Traits.CastToBytes([]float64{-0.5})},
		{schema.Node{Basic: schema.FixedSizeBinary}, one[:], two[:]},
	} {
		if got := orderOf(&c.node)(c.less, c.greater); cmp.Compare(got, 0) != -1 {
			t.Errorf("type %d, signed %v: %d", c.node.Basic, c.node.Signed, got)
		}
		x := &colstream.RangeIndex{Type: c.node.Basic, Span: 300, BlockSize: 256, Width: len(c.less), Invalid: []uint16{1, 2}}
		x.Min, x.Max = append(append(x.Min, c.greater...), c.less...), append(append(x.Max, c.greater...), c.less...)
		got := halve(x, &c.node)
		if got.BlockSize != 512 || string(got.Min) != string(c.less) || string(got.Max) != string(c.greater) || got.Invalid[0] != 3 {
			t.Errorf("type %d, signed %v: %+v", c.node.Basic, c.node.Signed, got)
		}
	}
}
