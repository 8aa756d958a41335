package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Numbers that are hashed together leave the registers that each by itself would, NaN and zeros of either sign among them.
func TestSketchAll(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 31))
	for range 2 { // the second time with the previous content of the space
		var together, apart, ints, intsApart sketch
		for _, n := range []int{1, 2, 511, 512, 513, 5000} {
			floats, numbers := make([]float32, n), make([]int32, n)
			for i := range floats {
				floats[i], numbers[i] = float32(r.NormFloat64()), int32(r.Uint32())>>r.IntN(32)
				if i > 0 && r.IntN(3) == 0 {
					floats[i], numbers[i] = floats[i-1], numbers[i-1]
				}
				if k := r.IntN(20); k < 3 {
					floats[i] = []float32{float32(math.NaN()), 0, float32(math.Copysign(0, -1))}[k]
				}
			}
			if n%2 == 1 {
				floats[0] = float32(math.NaN())
			}
			sketchAll(&together, floats, floatWords[float32])
			sketchAll(&ints, numbers, integerWords[int32])
			for i := range floats {
				b := FloatBytes(float64(floats[i]))
				apart.add(b[:])
				b = IntegerBytes(uint64(int64(numbers[i])))
				intsApart.add(b[:])
			}
			if together != apart || ints != intsApart {
				t.Fatalf("%d numbers, together and apart:\n%v\n%v\n%v\n%v", n, together, apart, ints, intsApart)
			}
		}
	}
}

// Few words have no more in the registers than they should: the one that none has is not known by what stood in the space before.
func TestSketchOfOneNaN(t *testing.T) {
	var one, want sketch
	sketchAll(&one, []float64{1, 2, 3}, floatWords[float64])
	one = sketch{}
	sketchAll(&one, []float64{math.NaN(), math.NaN()}, floatWords[float64])
	b := FloatBytes(math.NaN())
	if want.add(b[:]); one != want {
		t.Errorf("a NaN leaves %v, want %v", one, want)
	}
}
