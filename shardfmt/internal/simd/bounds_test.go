package simd

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Every tier reports about floats what their plain comparison does, bit by bit, zeros of either sign among them; and that one is infinite or no number.
func TestBoundsAgainstPlainLoop(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		testBounds[float32](t)
		testBounds[float64](t)
	})
}

func testBounds[T float32 | float64](t *testing.T) {
	r := rand.New(rand.NewPCG(21, 21))
	for n := 1; n < 300; n++ {
		for kind := range 6 {
			vals := make([]T, n)
			for i := range vals {
				switch kind {
				case 0:
					vals[i] = T(r.NormFloat64())
				case 1:
					vals[i] = T(math.Copysign(float64(r.IntN(2)), float64(r.IntN(2))-0.5))
				case 2:
					vals[i] = -1
				case 3:
					vals[i] = T(math.Copysign(0, float64(r.IntN(2))-0.5))
				case 4:
					vals[i] = []T{math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32}[r.IntN(4)]
				case 5:
					vals[i] = T(r.ExpFloat64())
				}
			}
			checkBounds(t, vals)
			for _, special := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				at := r.IntN(n)
				was := vals[at]
				vals[at] = T(special)
				if _, ok := BoundsOf(vals); ok {
					t.Fatalf("%T: %v at %d of %d goes unseen", vals, special, at, n)
				}
				vals[at] = was
			}
		}
	}
}

func checkBounds[T float32 | float64](t *testing.T, vals []T) {
	t.Helper()
	want := Bounds[T]{Least: vals[0], Most: vals[0]}
	for _, v := range vals {
		if v < want.Least {
			want.Least = v
		}
		if v > want.Most {
			want.Most = v
		}
		if v < 0 {
			want.Negative++
		}
		if v == 0 {
			want.Zeros++
		}
		want.Differ |= FloatBits(v) ^ FloatBits(vals[0])
	}
	got, ok := BoundsOf(vals)
	if !ok || got != want || FloatBits(got.Least) != FloatBits(want.Least) || FloatBits(got.Most) != FloatBits(want.Most) {
		t.Fatalf("%v: %+v, %v, want %+v", vals, got, ok, want)
	}
}

// No tier allocates.
func TestBoundsAllocateNothing(t *testing.T) {
	narrow, wide := make([]float32, 1000), make([]float64, 1000)
	eachTier(t, func(t *testing.T) {
		if n := testing.AllocsPerRun(10, func() { BoundsOf(narrow); BoundsOf(wide) }); n > 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

// Every tier hashes words as the library hashes their bytes.
func TestHashWords(t *testing.T) {
	const secret = 0x0123456789abcdef
	r := rand.New(rand.NewPCG(22, 22))
	eachTier(t, func(t *testing.T) {
		for n := range 40 {
			src, dst := make([]uint64, n), make([]uint64, n+1)
			for i := range src {
				src[i] = r.Uint64() >> r.IntN(64)
			}
			HashWords(dst, src, secret)
			for i, v := range src {
				if want := HashWord(v, secret); dst[i] != want {
					t.Fatalf("%d of %d words: %#x hashes to %#x, want %#x", i, n, v, dst[i], want)
				}
			}
			if dst[n] != 0 {
				t.Fatalf("%d words: one more is written", n)
			}
		}
	})
}
