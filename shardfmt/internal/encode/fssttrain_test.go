package encode

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// A tally counts symbols as a map does, more of them than it has space for at first, and forgets them.
func TestTally(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 51))
	var counts tally
	for _, distinct := range []uint64{10, 3 * leastSlots} {
		counts.reset()
		want := map[symbol]uint32{}
		for range 4 * leastSlots {
			s := symbol{bytes: r.Uint64N(distinct), length: uint8(1 + r.IntN(8))}
			counts.add(s)
			want[s]++
		}
		for _, c := range counts.all {
			if want[c.symbol] != c.n {
				t.Fatalf("%v is counted %d times, want %d", c.symbol, c.n, want[c.symbol])
			}
			delete(want, c.symbol)
		}
		if len(want) > 0 {
			t.Fatalf("%d symbols are not counted", len(want))
		}
	}
}

// Candidates come in the order in which they were sorted.
func TestCandidates(t *testing.T) {
	r := rand.New(rand.NewPCG(52, 52))
	for n := range 200 {
		all := make(candidates, n)
		for i := range all {
			all[i] = candidate{symbol{uint64(i), uint8(r.IntN(3))}, r.IntN(5)}
		}
		r.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
		sorted := slices.Clone(all)
		slices.SortFunc(sorted, func(a, b candidate) int {
			return cmp.Or(cmp.Compare(b.worth, a.worth), cmp.Compare(b.symbol.length, a.symbol.length), cmp.Compare(a.symbol.bytes, b.symbol.bytes))
		})
		all.heap()
		for i, want := range sorted {
			if got := all.pop(); got != want.symbol {
				t.Fatalf("%d candidates: %v comes at %d, want %v", n, got, i, want.symbol)
			}
		}
	}
}
