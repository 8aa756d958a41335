package encode

import (
	"math"
	"math/rand/v2"
	"testing"
)

// plainly is what scan gives, value by value.
func plainly[U word](vals []U) stats[U] {
	top := bitsOf[U]() - 1
	sign := U(1) << top
	s := stats[U]{n: len(vals)}
	least, most, leastDiff, mostDiff := sign, sign, ^U(0), U(0)
	lastDiff := U(0)
	for i, v := range vals {
		least, most = min(least, (v-vals[0])^sign), max(most, (v-vals[0])^sign)
		s.width = max(s.width, widthOf(v))
		if v>>top == 1 {
			s.negative = true
			s.signedWidth = max(s.signedWidth, 1+widthOf(^v))
		} else {
			s.signedWidth = max(s.signedWidth, 1+widthOf(v))
		}
		if i == 0 {
			continue
		}
		d := v - vals[i-1]
		if d != 0 {
			s.changes++
		}
		if d != lastDiff {
			s.diffChanges++
		}
		leastDiff, mostDiff, lastDiff = min(leastDiff, d^sign), max(mostDiff, d^sign), d
	}
	s.low, s.span = vals[0]+(least^sign), most-least
	s.diffLow, s.diffSpan = leastDiff^sign, mostDiff-leastDiff
	return s
}

func testScan[U word](t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	shapes := map[string]func() U{
		"any":          func() U { return U(r.Uint64()) },
		"few":          func() U { return U(r.Uint64N(3)) },
		"near zero":    func() U { return U(r.Uint64N(9)) - 4 },
		"same":         func() U { return 7 },
		"extremes":     func() U { return []U{0, ^U(0), U(1) << (bitsOf[U]() - 1), U(1)<<(bitsOf[U]()-1) - 1}[r.IntN(4)] },
		"wrap around":  func() U { return U(1)<<(bitsOf[U]()-1) + U(r.Uint64N(9)) - 4 },
		"all negative": func() U { return ^U(r.Uint64N(5)) },
	}
	for name, next := range shapes {
		for _, n := range []int{1, 2, 3, 1000, math.MaxUint8 * 5} {
			vals := make([]U, n)
			for i := range vals {
				vals[i] = next()
			}
			if got, want := scan(vals), plainly(vals); got != want {
				t.Fatalf("%s, %d values of %d bits: got %+v, want %+v", name, n, bitsOf[U](), got, want)
			}
		}
	}
}

func TestScan(t *testing.T) {
	testScan[uint8](t)
	testScan[uint16](t)
	testScan[uint32](t)
	testScan[uint64](t)
}
