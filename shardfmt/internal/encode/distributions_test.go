package encode

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// distribution makes n words of a shape. What they mean is up to the element type they are cut down to.
type distribution struct {
	name string
	make func(r *rand.Rand, n int) []uint64
}

func each(f func(r *rand.Rand, i int) uint64) func(*rand.Rand, int) []uint64 {
	return func(r *rand.Rand, n int) []uint64 {
		vals := make([]uint64, n)
		for i := range vals {
			vals[i] = f(r, i)
		}
		return vals
	}
}

func walk(step int64, base uint64) func(*rand.Rand, int) []uint64 {
	return func(r *rand.Rand, n int) []uint64 {
		vals, at := make([]uint64, n), base
		for i := range vals {
			vals[i] = at
			at += uint64(r.Int64N(2*step+1) - step)
		}
		return vals
	}
}

var distributions = []distribution{
	{"zeros", each(func(*rand.Rand, int) uint64 { return 0 })},
	{"constant", each(func(*rand.Rand, int) uint64 { return 0x4045_1234_5678_9abc })},
	{"sorted", each(func(_ *rand.Rand, i int) uint64 { return uint64(3*i + 7) })},
	{"falling", each(func(_ *rand.Rand, i int) uint64 { return uint64(-3 * i) })},
	{"ticks", each(func(r *rand.Rand, i int) uint64 { return 638843822550000000 + uint64(i)*1e7 + r.Uint64N(3) })},
	{"quadratic", each(func(_ *rand.Rand, i int) uint64 { return uint64(i * i) })},
	{"bytes", each(func(r *rand.Rand, _ int) uint64 { return r.Uint64N(256) })},
	{"small of either sign", each(func(r *rand.Rand, _ int) uint64 { return uint64(r.Int64N(200) - 100) })},
	{"around a thousand", each(func(r *rand.Rand, _ int) uint64 { return 1_000_000 + r.Uint64N(1000) })},
	{"runs", each(func(_ *rand.Rand, i int) uint64 { return uint64(i/37) * 0x1234567 })},
	{"long runs", each(func(_ *rand.Rand, i int) uint64 { return uint64(i / 700 % 3) })},
	{"random runs", func(r *rand.Rand, n int) []uint64 {
		vals, v := make([]uint64, n), uint64(0)
		for i := range vals {
			if r.IntN(9) == 0 {
				v = r.Uint64()
			}
			vals[i] = v
		}
		return vals
	}},
	{"few large", each(func(r *rand.Rand, _ int) uint64 { return 0x9e3779b97f4a7c15 * (1 + r.Uint64N(5)) })},
	{"zipf", func(r *rand.Rand, n int) []uint64 {
		z := rand.NewZipf(r, 1.3, 1, 1<<40)
		return each(func(*rand.Rand, int) uint64 { return z.Uint64() })(r, n)
	}},
	{"mostly zero", each(func(r *rand.Rand, _ int) uint64 {
		if r.IntN(50) > 0 {
			return 0
		}
		return r.Uint64()
	})},
	{"mostly seven", each(func(r *rand.Rand, _ int) uint64 {
		if r.IntN(100) > 0 {
			return 7
		}
		return r.Uint64N(1 << 20)
	})},
	{"outliers", each(func(r *rand.Rand, _ int) uint64 {
		if r.IntN(200) == 0 {
			return r.Uint64()
		}
		return 5000 + r.Uint64N(60)
	})},
	{"random walk", walk(5, 1<<20)},
	{"walk across zero", walk(9, 0)},
	{"random", each(func(r *rand.Rand, _ int) uint64 { return r.Uint64() })},
	{"extremes", each(func(r *rand.Rand, i int) uint64 {
		edges := []uint64{0, ^uint64(0), 1 << 63, 1<<63 - 1, 1 << 31, 1<<31 - 1, 1 << 15, 1<<15 - 1, 128, 127, 1}
		return edges[r.IntN(len(edges))]
	})},
	{"lowest and highest", each(func(_ *rand.Rand, i int) uint64 { return uint64(1)<<63 - uint64(i%2) })},
}

// floatDistributions give values of the width the test requests.
var floatDistributions = []struct {
	name string
	at   func(r *rand.Rand, i int) float64
}{
	{"cents", func(r *rand.Rand, _ int) float64 { return float64(r.IntN(100000)) / 100 }},
	{"tenths going up", func(_ *rand.Rand, i int) float64 { return float64(i) / 10 }},
	{"whole", func(r *rand.Rand, _ int) float64 { return float64(r.IntN(1000) - 500) }},
	{"unit", func(r *rand.Rand, _ int) float64 { return r.Float64() }},
	{"normal", func(r *rand.Rand, _ int) float64 { return r.NormFloat64() }},
	{"wide", func(r *rand.Rand, _ int) float64 { return math.Ldexp(r.Float64(), r.IntN(600)-300) }},
	{"cents with specials", func(r *rand.Rand, _ int) float64 {
		specials := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), math.Pi, 5e-324, math.MaxFloat64}
		if r.IntN(50) == 0 {
			return specials[r.IntN(len(specials))]
		}
		return float64(r.IntN(5000)) / 100
	}},
	{"specials", func(r *rand.Rand, _ int) float64 {
		return []float64{0, math.Copysign(0, -1), math.NaN(), math.Float64frombits(0x7ff8_0000_0000_0123), math.Inf(-1)}[r.IntN(5)]
	}},
	{"zeros of either sign", func(r *rand.Rand, _ int) float64 { return math.Copysign(0, float64(r.IntN(2))-0.5) }},
	{"minus zero", func(*rand.Rand, int) float64 { return math.Copysign(0, -1) }},
	{"subnormal", func(r *rand.Rand, _ int) float64 { return math.Float64frombits(r.Uint64N(1 << 50)) }},
	{"coordinates", func(r *rand.Rand, _ int) float64 { return math.Round((47+r.Float64())*1e6) / 1e6 }},
}

var counts = []int{0, 1, 2, 7, 8, 9, 63, 100, 1023, 1024, 1025, 2048, 5000}

// bitmaps are the validity bitmaps each distribution is tried with, nil among them.
func bitmaps(r *rand.Rand, n int) [][]byte {
	list := [][]byte{nil}
	for _, share := range []float64{0, 0.03, 0.5, 0.97, 1} {
		valid := make([]byte, (n+7)/8)
		for i := range n {
			if r.Float64() < share {
				valid[i/8] |= 1 << (i % 8)
			}
		}
		list = append(list, valid)
	}
	return list
}

func TestDistributions(t *testing.T) {
	for _, p := range allProfiles {
		t.Run(p.String(), func(t *testing.T) {
			t.Run("i8", testDistributions[int8](p))
			t.Run("i16", testDistributions[int16](p))
			t.Run("i32", testDistributions[int32](p))
			t.Run("i64", testDistributions[int64](p))
			t.Run("u8", testDistributions[uint8](p))
			t.Run("u16", testDistributions[uint16](p))
			t.Run("u32", testDistributions[uint32](p))
			t.Run("u64", testDistributions[uint64](p))
			t.Run("f32", testFloats[float32](p))
			t.Run("f64", testFloats[float64](p))
		})
	}
}

func testDistributions[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](p Profile) func(t *testing.T) {
	return func(t *testing.T) {
		e := NewEncoder(Options{Profile: p, Seed: 5})
		for _, d := range distributions {
			sizes := counts
			if p != MinimalSize && !testing.Short() {
				sizes = append(sizes, 65535)
			}
			for _, n := range sizes {
				r := rand.New(rand.NewPCG(1, uint64(n)))
				vals := make([]T, n)
				for i, v := range d.make(r, n) {
					vals[i] = T(v)
				}
				for i, valid := range bitmaps(r, n) {
					if n > 500 && i != 0 && i != 2 {
						continue // the smaller counts have had the others
					}
					t.Run(fmt.Sprintf("%s/%d/%d", d.name, n, i), func(t *testing.T) { checkNumbers(t, e, vals, valid) })
				}
			}
		}
	}
}

func testFloats[T float32 | float64](p Profile) func(t *testing.T) {
	return func(t *testing.T) {
		e := NewEncoder(Options{Profile: p, Seed: 5})
		for _, d := range floatDistributions {
			for _, n := range counts {
				r := rand.New(rand.NewPCG(1, uint64(n)))
				vals := make([]T, n)
				for i := range vals {
					vals[i] = T(d.at(r, i))
				}
				for i, valid := range bitmaps(r, n) {
					t.Run(fmt.Sprintf("%s/%d/%d", d.name, n, i), func(t *testing.T) { checkNumbers(t, e, vals, valid) })
				}
			}
		}
		// Any bits at all, NaN payloads among them.
		r := rand.New(rand.NewPCG(3, 4))
		raw := make([]byte, 3000*8)
		for i := 0; i < len(raw); i += 8 {
			binary.LittleEndian.PutUint64(raw[i:], r.Uint64()|0x7ff0<<48)
		}
		vals := make([]T, 3000)
		simd.Load(vals, raw)
		checkNumbers(t, e, vals, nil)
	}
}

// checkNumbers requires the same bits back, the size that was planned, and the safe subset.
func checkNumbers[T simd.Number](t *testing.T, e *Encoder, vals []T, valid []byte) {
	t.Helper()
	sub := roundTrip(t, e, vals, valid)
	if len(sub) != e.chosen.size {
		t.Errorf("%s: %d bytes were planned, %d written", e.Chosen(), e.chosen.size, len(sub))
	}
	if plain := 2 + len(vals)*simd.SizeOf[T](); len(sub) > plain {
		t.Errorf("%s: %d bytes, more than the %d of Plain", e.Chosen(), len(sub), plain)
	}
	checkSafe(t, e.chosen, 0, 0)
}

// checkSafe walks a plan that starts at offset at and requires what docs/format/blocks.md requires.
func checkSafe(t *testing.T, p *plan, at, level int) {
	t.Helper()
	if at%8 != 0 {
		t.Errorf("%s starts at offset %d", p.code, at)
	}
	if level >= 4 {
		t.Errorf("%s nested %d deep", p.code, level)
	}
	raw := func(i int) int {
		if p.kids[i] != nil {
			return p.kids[i].size
		}
		return len(p.in[i])
	}
	first, second := 16, 0
	switch p.code {
	case block.ZigZag:
		if p.kids[0] == nil {
			t.Error("raw ZigZag")
		}
		first = 8
	case block.Delta, block.FrameOfReference:
		if p.kids[0] == nil {
			t.Errorf("raw stream below %s", p.code)
		}
		return // the header depends on the element; the decoder checks
	case block.TruncateU8, block.TruncateU16, block.TruncateU32, block.TruncateU64:
		first = 8
	case block.AlpRd:
		if n := len(p.lefts); n != 4 && n != 8 {
			t.Errorf("ALP-RD with %d entries", n)
		}
		first += 2 * len(p.lefts)
		second = first + raw(0)
	case block.RunLength, block.Sparse:
		second = first + align8(raw(0))
	case block.BlockDictionary:
		second = first + raw(0)
	case block.FLBitPack, block.FusedFrameOfReference:
		if p.width < 1 {
			t.Errorf("%s of width %d", p.code, p.width)
		}
	}
	if p.kids[0] != nil {
		checkSafe(t, p.kids[0], first, level+1)
	}
	if p.kids[1] != nil {
		checkSafe(t, p.kids[1], second, level+1)
	}
}

// textDistributions give strings.
var textDistributions = []struct {
	name string
	at   func(r *rand.Rand, i int) string
}{
	{"empty", func(*rand.Rand, int) string { return "" }},
	{"constant", func(*rand.Rand, int) string { return "always the same" }},
	{"few", func(r *rand.Rand, _ int) string { return []string{"first", "second", "", "fourth", "fifth"}[r.IntN(5)] }},
	{"runs", func(_ *rand.Rand, i int) string { return fmt.Sprint("run ", i/50) }},
	{"urls", func(r *rand.Rand, i int) string {
		return fmt.Sprintf("https://example.org/shop/%s/item/%d?ref=%x", []string{"books", "music", "tools"}[r.IntN(3)], r.IntN(100000), r.Uint32())
	}},
	{"log lines", func(r *rand.Rand, i int) string {
		return fmt.Sprintf("14:%02d:%02d.%03d INFO worker-%d request %08x finished with status %d in %d ms", i/60%60, i%60, r.IntN(1000), r.IntN(16), r.Uint32(), 200+100*r.IntN(4), r.IntN(2000))
	}},
	{"prose", func(r *rand.Rand, _ int) string {
		words := []string{"shard", "stripe", "the", "of", "a", "block", "encoded", "root", "and", "merge", "reads", "writes", "catalog", "naïve", "東京都"}
		text := ""
		for range 3 + r.IntN(30) {
			text += words[r.IntN(len(words))] + " "
		}
		return text
	}},
	{"hex", func(r *rand.Rand, _ int) string { return fmt.Sprintf("%016x", r.Uint64()) }},
	{"random bytes", func(r *rand.Rand, _ int) string {
		b := make([]byte, r.IntN(40))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return string(b)
	}},
	{"one long", func(r *rand.Rand, i int) string {
		if i%1000 == 3 {
			return fmt.Sprintf("%0100000d", r.Uint64())
		}
		return "x"
	}},
}
