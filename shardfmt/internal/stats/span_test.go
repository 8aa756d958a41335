package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Numbers that are looked at together give the statistics of the same numbers one by one, however far apart they lie.
func TestNumbersTogetherAsOneByOne(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	odd := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), -1, 1.5, math.MaxFloat64, math.SmallestNonzeroFloat64}
	for name, draw := range map[string]func() float64{
		"single":       func() float64 { return 7 },
		"minus zero":   func() float64 { return math.Copysign(0, -1) },
		"near":         func() float64 { return float64(r.IntN(900) - 450) },
		"near, many":   func() float64 { return float64(r.IntN(4000) - 100) },
		"widest":       func() float64 { return float64(r.IntN(widestSpan)) },
		"wider":        func() float64 { return float64(r.IntN(widestSpan + 2)) },
		"far":          func() float64 { return float64(r.Int64N(1 << 40)) },
		"few and far":  func() float64 { return float64(r.Int64N(50) << 34) },
		"negative":     func() float64 { return -1 - float64(r.IntN(100)) },
		"cents":        func() float64 { return float64(r.IntN(3000)) / 100 },
		"odd":          func() float64 { return odd[r.IntN(len(odd))] },
		"not a number": func() float64 { return math.NaN() },
		"infinite":     func() float64 { return math.Inf(-1) },
	} {
		t.Run(name, func(t *testing.T) {
			n := 2*spanValues + 100
			doubles, longs := array.NewFloat64Builder(memory.DefaultAllocator), array.NewInt64Builder(memory.DefaultAllocator)
			singles, shorts := array.NewFloat32Builder(memory.DefaultAllocator), array.NewUint16Builder(memory.DefaultAllocator)
			for range n {
				v := draw()
				doubles.Append(v)
				singles.Append(float32(v))
				if v != v || math.IsInf(v, 0) {
					v = 0
				}
				longs.Append(int64(v))
				shorts.Append(uint16(int64(v)))
			}
			togetherAsOneByOne(t, &schema.Node{Basic: schema.Float64}, doubles.NewArray())
			togetherAsOneByOne(t, &schema.Node{Basic: schema.Float32}, singles.NewArray())
			togetherAsOneByOne(t, &schema.Node{Basic: schema.Int64, Signed: true}, longs.NewArray())
			togetherAsOneByOne(t, &schema.Node{Basic: schema.Int16}, shorts.NewArray())
		})
	}
}

func togetherAsOneByOne(t *testing.T, node *schema.Node, a arrow.Array) {
	t.Helper()
	together, single := NewCollector(node, Options{Bloom: BloomAlways}), NewCollector(node, Options{Bloom: BloomAlways})
	together.Add(a)
	for i := range int64(a.Len()) {
		single.Add(array.NewSlice(a, i, i+1))
	}
	if got, want := together.Descriptor(), single.Descriptor(); !proto.Equal(got, want) {
		t.Errorf("%v: together\n%v\none by one\n%v", a.DataType(), got, want)
	}
}
