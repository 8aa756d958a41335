package column

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Evaluating by an interval is comparing what is read, value by value, and needs no block whole that is packed or has few values.
func TestEvalWithin(t *testing.T) {
	const n = 20_000
	r := rand.New(rand.NewPCG(3, 8))
	integers := map[string]func(i int) int64{
		"packed": func(int) int64 { return 1000 + r.Int64N(500) }, "few": func(int) int64 { return r.Int64N(9) * 100_000 },
		"runs": func(i int) int64 { return int64(i / 50) }, "rising": func(i int) int64 { return int64(i) * 3 },
	}
	floats := map[string]func(i int) float64{
		"packed": func(int) float64 { return float64(r.IntN(40_000)) / 100 }, "few": func(int) float64 { return float64(r.IntN(7)) / 4 },
		"exceptions": func(i int) float64 {
			if i%100 == 7 {
				return []float64{math.Pi, math.NaN(), math.Inf(1), math.Inf(-1)}[r.IntN(4)]
			}
			return float64(r.IntN(40_000)) / 100
		},
	}
	undecoded := 0
	for _, nulls := range []float64{0, 0.02, 0.5} {
		for name, value := range integers {
			b := array.NewInt64Builder(memory.DefaultAllocator)
			for i := range n {
				if b.Append(value(i)); r.Float64() < nulls {
					b.SetNull(i)
				}
			}
			node := &schema.Node{Name: "n", Parent: schema.NoParent, Basic: schema.Int64, Signed: true}
			undecoded += evalsWithin[int64](t, name, node, b.NewArray(), []simd.Interval{{Low: 1100, Span: 99}, {Low: 1100, Span: 99, Others: true},
				{Low: uint64(math.MaxUint64), Span: 200_001}, {None: true}, {None: true, Others: true}})
		}
		for name, value := range floats {
			b := array.NewFloat64Builder(memory.DefaultAllocator)
			for i := range n {
				if b.Append(value(i)); r.Float64() < nulls {
					b.SetNull(i)
				}
			}
			node := &schema.Node{Name: "n", Parent: schema.NoParent, Basic: schema.Float64}
			undecoded += evalsWithin[float64](t, name, node, b.NewArray(), []simd.Interval{{From: 0.5, To: 33}, {From: 0.5, To: 33, Others: true}, {None: true}})
		}
	}
	if undecoded < 12 {
		t.Errorf("%d columns were evaluated without decoding a block", undecoded)
	}
}

// evalsWithin holds what a column states about intervals against its values; it returns 1 if no block of it was decoded.
func evalsWithin[T interface{ int64 | float64 }](t *testing.T, name string, node *schema.Node, a arrow.Array, intervals []simd.Interval) (undecoded int) {
	t.Helper()
	n := uint64(a.Len())
	for _, profile := range []encode.Profile{encode.Plain, encode.Balanced, encode.HighCompression} {
		o := store(t, node, a, &Options{Profile: profile}, 1)
		c, err := Open(context.Background(), Field{Source: o, Node: node, Records: n}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.fetch(c, []colstream.Range{{Start: 0, End: n}}, true); err != nil {
			t.Fatal(err)
		}
		numbers := c.(*numberColumn[T])
		for i := range intervals {
			v := &intervals[i]
			for _, rows := range []colstream.Range{{Start: 0, End: n}, {Start: 77, End: 15_003}, {Start: 9000, End: 9001}} {
				got := make([]byte, (rows.Len()+7)/8)
				if err := numbers.Eval(rows, got, nil, v); err != nil {
					t.Fatal(err)
				}
				if i == 0 && rows.Len() == n && numbers.data.cached < 0 && profile == encode.Balanced {
					undecoded = 1
				}
				d, err := c.Read(rows)
				if err != nil {
					t.Fatal(err)
				}
				read := array.MakeFromData(d)
				for k, x := range arrow.GetValues[T](d, 1) {
					want := read.IsValid(k) && lies(x, v)
					if got[k/8]>>(k%8)&1 == 1 != want {
						t.Fatalf("%s, %v, nulls %d, rows %v: value %d, %v in %+v: %t", name, profile, a.NullN(), rows, k, x, *v, !want)
					}
				}
			}
		}
	}
	return undecoded
}

// lies compares a value with an interval the plain way.
func lies[T interface{ int64 | float64 }](x T, v *simd.Interval) bool {
	in := !v.None
	if f, ok := any(x).(float64); ok {
		in = in && f >= v.From && f <= v.To
	} else {
		in = in && uint64(x)-v.Low <= v.Span
	}
	return in != v.Others
}
