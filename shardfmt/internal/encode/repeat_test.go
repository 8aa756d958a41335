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

// nullsAmong is a bitmap of n values of which so many in a hundred are null; nil if none are.
func nullsAmong(r *rand.Rand, n, share int) []byte {
	if share == 0 {
		return nil
	}
	valid := make([]byte, (n+7)/8)
	for i := range n {
		if r.IntN(100) >= share {
			valid[i/8] |= 1 << (i % 8)
		}
	}
	return valid
}

// Blocks of numbers some of which are null, the same share in each, keep their tree as others do.
func TestRepeatedTreeWithNulls(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	for _, share := range []int{1, 50, 95} {
		e := NewEncoder(Options{})
		vals, weighed, kept, alone := make([]int64, generalBlock), 0, 0, 0
		for range 2 * weighEvery {
			for j := range vals {
				vals[j] = r.Int64N(1000)
			}
			valid := nullsAmong(r, len(vals), share)
			kept += len(roundTrip(t, e, vals, valid))
			if e.numbers.left == weighEvery-1 {
				weighed++
			}
			alone += len(roundTrip(t, NewEncoder(Options{}), vals, valid))
		}
		if weighed > weighEvery/2 { // chance makes some of them larger
			t.Errorf("%d %% null: %d blocks of %d were weighed", share, weighed, 2*weighEvery)
		}
		if kept > alone+alone/100 {
			t.Errorf("%d %% null: %d bytes, %d where each block is weighed", share, kept, alone)
		}
	}
}

// Blocks whose values and whose share of nulls change take hardly more where trees are kept than where each block is weighed. Nothing pauses.
func TestChangingNulls(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	at := int64(0)
	kinds := []func(i int) int64{
		func(int) int64 { return r.Int64N(100) },
		func(int) int64 { return r.Int64N(1 << 40) },
		func(i int) int64 { return int64(i/50) * 0x1e3779b97f4a7c15 >> 40 },
		func(int) int64 { at += 1000 + r.Int64N(4); return at },
		func(int) int64 { return int64(r.IntN(20)) * 0x1e3779b97f4a7c15 },
	}
	keeping, weighing := NewEncoder(Options{}), NewEncoder(Options{})
	kept, weighed, repeated := 0, 0, 0
	vals := make([]int64, lightBlock)
	for range 400 {
		next, share := kinds[r.IntN(len(kinds))], []int{1, 20, 50, 95}[r.IntN(4)]
		for range 1 + r.IntN(6) {
			for i := range vals {
				vals[i] = next(i)
			}
			valid := nullsAmong(r, len(vals), share)
			keeping.trials, weighing.trials = trials{}, trials{}
			if weighing.numbers != nil {
				weighing.numbers.forget()
			}
			kept += len(roundTrip(t, keeping, vals, valid))
			weighed += len(roundTrip(t, weighing, vals, valid))
			if keeping.chosen.repeated {
				repeated++
			}
		}
	}
	if kept > weighed+weighed/32 {
		t.Errorf("%d bytes, %d where each block is weighed", kept, weighed)
	}
	if repeated < 400 {
		t.Errorf("only %d blocks kept their tree", repeated)
	}
}

// A value far off in the block that is weighed does not cost those after it their packing.
func TestRepeatedTreeOrPacked(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	e := NewEncoder(Options{})
	vals := make([]float64, lightBlock)
	kept, alone := 0, 0
	for i := range weighEvery {
		for j := range vals {
			vals[j] = float64(r.IntN(30_000)-15_000) / 100
		}
		if i == 0 {
			vals[7], vals[8] = 320, -320 // sixteen bits, which are no smaller packed
		}
		kept += len(roundTrip(t, e, vals, nil))
		alone += len(roundTrip(t, NewEncoder(Options{}), vals, nil))
	}
	if e.numbers.left != 0 {
		t.Error("not all blocks but the first have repeated its tree")
	}
	if kept > alone+alone/100 {
		t.Errorf("%d bytes, %d where each block is weighed", kept, alone)
	}
}
