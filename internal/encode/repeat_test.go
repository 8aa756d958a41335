package encode

import (
	"math/rand/v2"
	"testing"
)

// Blocks that are alike are weighed one of weighEvery times, and each gets the same tree.
func TestRepeatedTree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	e := NewEncoder(Options{})
	vals := make([]uint32, lightBlock)
	first, weighed := "", 0
	for i := range 3 * weighEvery {
		for j := range vals {
			vals[j] = 1_000_000 + r.Uint32N(1000)
		}
		roundTrip(t, e, vals, nil)
		if e.numbers.left == weighEvery-1 {
			weighed++
		}
		if i == 0 {
			first = e.Chosen()
		}
		if e.Chosen() != first {
			t.Fatalf("block %d has %s, the first %s", i, e.Chosen(), first)
		}
	}
	if weighed != 3 {
		t.Errorf("%d blocks of %d were weighed", weighed, 3*weighEvery)
	}
}

// A block that looks otherwise than the one before, or of which its tree makes more, is weighed: it takes no more than alone.
func TestChangingBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	at := uint64(0)
	kinds := map[string]func(i int) uint64{
		"narrow":   func(int) uint64 { return r.Uint64N(100) },
		"wide":     func(int) uint64 { return r.Uint64N(1 << 40) },
		"runs":     func(i int) uint64 { return uint64(i/50) * 0x9e3779b97f4a7c15 >> 40 },
		"steps":    func(int) uint64 { at += 1000 + r.Uint64N(4); return at },
		"constant": func(int) uint64 { return 77 },
		"sparse":   func(i int) uint64 { return max(uint64(i%40), 38) - 38<<30 },
		"few":      func(int) uint64 { return uint64(r.IntN(20)) * 0x9e3779b97f4a7c15 },
	}
	for _, p := range []Profile{Balanced, MinimalCompression} {
		e := NewEncoder(Options{Profile: p})
		for range 8 {
			for name, next := range kinds {
				vals := make([]uint64, lightBlock+r.IntN(3)*1000)
				for i := range vals {
					vals[i] = next(i)
				}
				got := len(roundTrip(t, e, vals, nil))
				alone := len(roundTrip(t, NewEncoder(Options{Profile: p}), vals, nil))
				if got > alone+alone/repeatLoss+16 {
					t.Errorf("%v, %s: %d bytes, alone %d", p, name, got, alone)
				}
			}
		}
	}
}

// What an encoder has written before leaves nothing behind when it is reset.
func TestResetForgetsTrees(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	vals := make([]uint32, lightBlock)
	for i := range vals {
		vals[i] = r.Uint32N(5000)
	}
	e := NewEncoder(Options{})
	roundTrip(t, e, vals, nil)
	e.Reset(Options{})
	roundTrip(t, e, vals, nil)
	if e.numbers.left != weighEvery-1 {
		t.Errorf("a block after Reset was not weighed")
	}
}

// Floats that look alike keep the cut of ALP-RD for twice as many blocks each time that it is found again, and take about what they do where each block has its own.
func TestRepeatedCut(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	e := NewEncoder(Options{})
	vals := make([]float32, lightBlock)
	weighed, kept, alone := 0, 0, 0
	const blocks = weighEvery + 2*weighEvery + 4*weighEvery
	for range blocks {
		for j := range vals {
			vals[j] = float32(r.NormFloat64() / 16)
		}
		kept += len(roundTrip(t, e, vals, nil))
		if e.numbers.left == e.numbers.every-1 {
			weighed++
		}
		if tree := e.Chosen(); tree != "AlpRd[FLBitPack, FLBitPack]" {
			t.Fatalf("a block of floats has %s", tree)
		}
		alone += len(roundTrip(t, NewEncoder(Options{}), vals, nil))
	}
	if weighed != 3 {
		t.Errorf("%d blocks of %d were weighed", weighed, blocks)
	}
	if kept > alone+alone/200 {
		t.Errorf("%d bytes with a cut that is kept, %d with one for each block", kept, alone)
	}
}
