package simd

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Numbers within a range, of every type, at the ends of their ranges too, are those of the plain comparison.
func TestWithinPlainLoops(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		testInts[int8](t)
		testInts[int16](t)
		testInts[int32](t)
		testInts[int64](t)
		testInts[uint8](t)
		testInts[uint16](t)
		testInts[uint32](t)
		testInts[uint64](t)
		testFloats[float32](t)
		testFloats[float64](t)
	})
}

func testInts[T Integer](t *testing.T) {
	r := rand.New(rand.NewPCG(14, 14))
	for n := range 200 {
		values := make([]T, n)
		for i := range values {
			values[i] = T(r.Uint64() >> r.IntN(64))
		}
		low, span := r.Uint64()>>r.IntN(64), r.Uint64()>>r.IntN(64)
		if n > 0 && r.IntN(2) == 0 { // ends that values have
			low = uint64(values[r.IntN(n)])
			span = uint64(values[r.IntN(n)]) - low
		}
		got := make([]uint64, (n+63)/64)
		IntsWithin(got, values, low, span)
		for i := range 64 * len(got) {
			want := i < n && uint64(values[i])-low <= span
			if got[i/64]>>(i%64)&1 == 1 != want {
				t.Fatalf("%T %v within %d and %d more: value %d of %d is not %v", values, values[min(i, n-1)], low, span, i, n, want)
			}
		}
	}
}

func testFloats[T float32 | float64](t *testing.T) {
	r := rand.New(rand.NewPCG(15, 15))
	some := func() float64 {
		special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), math.MaxFloat64, math.SmallestNonzeroFloat64, math.MaxFloat32}
		if k := r.IntN(2 * len(special)); k < len(special) {
			return special[k]
		}
		return r.NormFloat64()
	}
	for n := range 200 {
		values := make([]T, n)
		for i := range values {
			values[i] = T(some())
		}
		low, high := some(), some()
		got := make([]uint64, (n+63)/64)
		FloatsWithin(got, values, low, high)
		for i := range 64 * len(got) {
			want := i < n && float64(values[i]) >= low && float64(values[i]) <= high
			if got[i/64]>>(i%64)&1 == 1 != want {
				t.Fatalf("%T %v within %v and %v: value %d of %d is not %v", values, values[min(i, n-1)], low, high, i, n, want)
			}
		}
	}
}
