package encode

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

const (
	ticksADay  = 864_000_000_000
	firstShips = 628_608_384_000_000_000 // 1992-12-30
)

// shipDates are points in time as those of lineitem's dates: midnights of 2,526 days in ticks, those of one order close
// together and orders at random.
func shipDates(r *rand.Rand, n int) []uint64 {
	vals := make([]uint64, n)
	order := uint64(0)
	for i := range vals {
		if r.IntN(4) == 0 {
			order = r.Uint64N(2405)
		}
		vals[i] = firstShips + ticksADay*(order+1+r.Uint64N(121))
	}
	return vals
}

// Wide blocks hold what columns with many repetitions may take, in bits a value.
func TestSizesOfRepetition(t *testing.T) {
	const n = 3*FlushValues + 10_000
	zipf := func(r *rand.Rand, n int) []uint64 {
		z, words := rand.NewZipf(r, 1.3, 4, 999), make([]uint64, 1000)
		for i := range words {
			words[i] = r.Uint64()
		}
		return each(func(*rand.Rand, int) uint64 { return words[z.Uint64()] })(r, n)
	}
	runs := func(r *rand.Rand, n int) []uint64 {
		run := uint64(0)
		return each(func(r *rand.Rand, i int) uint64 {
			if i == 0 || r.IntN(100) == 0 {
				run = r.Uint64N(1_000_000)
			}
			return run
		})(r, n)
	}
	for _, c := range []struct {
		name           string
		make           func(r *rand.Rand, n int) []uint64
		balanced, high float64
	}{
		{"dates", shipDates, 12.3, 12.3},
		{"ids", each(func(_ *rand.Rand, i int) uint64 { return uint64(10_000_000 + i) }), 0.01, 0.01},
		{"runs", runs, 0.52, 0.42},
		{"1000 distinct", zipf, 11.3, 11.3},
	} {
		t.Run(c.name, func(t *testing.T) {
			vals := c.make(rand.New(rand.NewPCG(19, 92)), n)
			sizeAtMost(t, Balanced, vals, c.balanced)
			sizeAtMost(t, HighCompression, vals, c.high)
		})
	}
	t.Run("codes of few texts", func(t *testing.T) {
		vals := make([]uint32, n)
		r := rand.New(rand.NewPCG(5, 5))
		for i := range vals {
			vals[i] = uint32(max(0, r.IntN(6)-2)) // half of them 0, the others 1, 2 or 3
		}
		sizeAtMost(t, Balanced, vals, 2.05)
		sizeAtMost(t, HighCompression, vals, 1.86)
	})
}

// sizeAtMost encodes vals as a field does, flush by flush, reads them back, and fails if frames and map included the
// blocks have more than so many bits for a value.
func sizeAtMost[T simd.Number](t *testing.T, p Profile, vals []T, bits float64) {
	t.Helper()
	e := NewEncoder(Options{Profile: p})
	size, at := 0, 0
	trees := map[string]int{}
	check := func(b Block) error {
		size += align8(8+len(b.Sub)+4) + mapShare
		trees[e.Chosen()]++
		back := make([]T, b.Values)
		if err := block.DecodeNumbers(back, b.Sub, new(block.Scratch)); err != nil {
			return err
		}
		for i, v := range back {
			if v != vals[at+i] {
				return fmt.Errorf("value %d is %v, not %v", at+i, v, vals[at+i])
			}
		}
		for _, i := range []int{0, b.Values / 2, b.Values - 1} {
			one := back[:1]
			if done, err := block.NumbersAt(one, b.Sub, b.Values, i, new(block.Scratch)); err != nil || done && one[0] != vals[at+i] {
				return fmt.Errorf("value %d alone is %v, not %v: %v", at+i, one[0], vals[at+i], err)
			}
		}
		at += b.Values
		return nil
	}
	for from := 0; from < len(vals); {
		to := min(from+FlushValues, len(vals))
		if _, err := CutNumbers(e, vals[at:to], nil, to == len(vals), check); err != nil {
			t.Fatal(err)
		}
		from = to
	}
	got := 8 * float64(size) / float64(len(vals))
	if at != len(vals) || got > bits {
		t.Errorf("%v: %.4f bits a value, not %.4f or less; %d values of %d: %v", p, got, bits, at, len(vals), trees)
	}
	t.Logf("%v: %.4f bits a value: %v", p, got, trees)
}

// Words of which only the lowest byte varies come back, whatever their number and however alike they are.
func TestLowBytes(t *testing.T) {
	for _, n := range []int{leastLowBytes, 1025, 2048, 8192, 32769, 65536, 65535} {
		for _, spread := range []uint32{2, 3, 11, 100, 256} {
			r := rand.New(rand.NewPCG(uint64(n), uint64(spread)))
			vals, wide := make([]uint32, n), make([]uint64, n)
			for i := range vals {
				vals[i] = min(r.Uint32N(spread), r.Uint32N(spread))
				if spread == 2 && i > n/3 {
					vals[i] = 1 // blocks of one literal
				}
				wide[i] = uint64(vals[i])
			}
			testLowBytes(t, vals)
			testLowBytes(t, wide)
		}
	}
}

func testLowBytes[U word](t *testing.T, vals []U) {
	t.Helper()
	e := NewEncoder(Options{Profile: HighCompression})
	e.borrow()
	s := scan(vals)
	p := planLowBytes(e, vals, &s, unsigned, scope{})
	if p == nil {
		t.Logf("%d values up to %d: no frame", s.n, s.span)
		return
	}
	sub, back := appendTree(nil, vals, p), make([]U, len(vals))
	if err := block.DecodeNumbers(back, sub, new(block.Scratch)); err != nil || !slices.Equal(back, vals) || len(sub) != p.size {
		t.Errorf("%d values of %d bytes up to %d: %d bytes, planned %d: %v", s.n, sizeOf[U](), s.span, len(sub), p.size, err)
	}
}
