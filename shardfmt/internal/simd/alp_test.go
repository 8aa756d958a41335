package simd

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Every tier finds the integers of the floats that have one, by every exponent and factor that is tried, and misses the others.
func TestAlpIntegers(t *testing.T) {
	special := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 1 << 51, -1 << 51, 1<<51 - 1, 1 - 1<<51, 1 << 60, math.MaxFloat64,
		math.SmallestNonzeroFloat64, 0.5, -0.5, 1.5, 2.5, 0.1 + 0.2}
	r := rand.New(rand.NewPCG(25, 25))
	eachTier(t, func(t *testing.T) {
		for n := range 40 {
			for exponent := range 19 {
				factor := r.IntN(exponent + 1)
				src := make([]uint64, n)
				for i := range src {
					v := float64(r.IntN(2_000_000)-1_000_000) / math.Pow10(r.IntN(4))
					if r.IntN(4) == 0 {
						v = special[r.IntN(len(special))]
					}
					src[i] = math.Float64bits(v)
				}
				checkIntegers(t, src, exponent, factor)
			}
		}
	})
}

func checkIntegers(t *testing.T, src []uint64, exponent, factor int) {
	t.Helper()
	dst, missed := make([]uint64, len(src)+1), make([]byte, (len(src)+7)/8)
	AlpIntegers(dst, missed, src, exponent, factor)
	back := make([]uint64, len(src))
	AlpFloats(back, dst[:len(src)], exponent, factor)
	for i, v := range src {
		x := math.RoundToEven(float64(float64(math.Float64frombits(v)*alpPower64[exponent]) * alpInverse64[factor]))
		has := math.Abs(x) < 1<<51 && math.Float64bits(float64(float64(x+0)*alpPower64[factor])*alpInverse64[exponent]) == v
		if miss := missed[i/8]>>(i%8)&1 == 1; miss == has {
			t.Fatalf("%v by %d and %d: missed %v", math.Float64frombits(v), exponent, factor, miss)
		}
		if has && (int64(dst[i]) != int64(x) || back[i] != v) {
			t.Fatalf("%v by %d and %d is %d, and comes back as %v", math.Float64frombits(v), exponent, factor, int64(dst[i]), math.Float64frombits(back[i]))
		}
	}
	for i := len(src); i < 8*len(missed); i++ {
		if missed[i/8]>>(i%8)&1 == 1 {
			t.Fatalf("of %d floats the one at %d is missed", len(src), i)
		}
	}
	if dst[len(src)] != 0 {
		t.Fatal("one more is written")
	}
}
