package simd

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Every tier finds the left parts that a search finds, and misses the others, with and without a factor.
func TestSplitLefts(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		testSplit[uint32](t)
		testSplit[uint64](t)
	})
}

func testSplit[U uint32 | uint64](t *testing.T) {
	r := rand.New(rand.NewPCG(23, 23))
	for n := range 100 {
		for _, width := range []int{1, 4, 9, 16} {
			entries := make([]uint16, 4+4*r.IntN(2))
			for i := range entries[:1+r.IntN(len(entries))] { // the others are zero
				entries[i] = uint16(r.Uint32N(1 << width))
			}
			var d Lefts
			d.Set(entries)
			if !d.found {
				t.Errorf("no factor for %d", entries)
			}
			checkSplit(t, &d, someSplit[U](r, n, width, entries), 8*SizeOf[U]()-width)
			d.found = false // as if there were none
			checkSplit(t, &d, someSplit[U](r, n, width, entries), 8*SizeOf[U]()-width)
		}
	}
}

// someSplit are values of which most have a left part of the entries.
func someSplit[U uint32 | uint64](r *rand.Rand, n, width int, entries []uint16) []U {
	vals := make([]U, n)
	for i := range vals {
		vals[i] = U(r.Uint64())
		if r.IntN(8) > 0 {
			cut := 8*SizeOf[U]() - width
			vals[i] = vals[i]&(1<<cut-1) | U(entries[r.IntN(len(entries))])<<cut
		}
	}
	return vals
}

func checkSplit[U uint32 | uint64](t *testing.T, d *Lefts, vals []U, cut int) {
	t.Helper()
	codes, missed := make([]uint16, len(vals)+1), make([]byte, (len(vals)+7)/8)
	for i := range missed {
		missed[i] = 0x55
	}
	all, want := SplitLefts(codes, missed, vals, cut, d), U(0)
	for i, v := range vals {
		want |= v
		at := slices.Index(d.entries, uint16(v>>cut))
		if miss := missed[i/8]>>(i%8)&1 == 1; miss != (at < 0) || codes[i] != uint16(max(0, at)) {
			t.Fatalf("value %d of %d, %#x cut at %d in %d: code %d, missed %v, want %d", i, len(vals), v, cut, d.entries, codes[i], miss, at)
		}
	}
	if all != want || codes[len(vals)] != 0 {
		t.Fatalf("all bits of %d values are %#x, want %#x", len(vals), all, want)
	}
	for i := len(vals); i < 8*len(missed); i++ {
		if missed[i/8]>>(i%8)&1 == 1 {
			t.Fatalf("of %d values the one at %d is missed", len(vals), i)
		}
	}
}
