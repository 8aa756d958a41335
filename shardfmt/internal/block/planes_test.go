package block_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
)

// planesOf encodes n words of which the upper byte is one of few as planes.
func planesOf[U uint32 | uint64](t testing.TB, n, k, few int) (vals []U, sub []byte) {
	r := rand.New(rand.NewPCG(uint64(n), uint64(few)))
	vals = make([]U, n)
	for i := range vals {
		vals[i] = U(r.IntN(few))<<(8*k) | U(r.IntN(1<<(8*k)))
	}
	vals[n/2] |= 1 << (8 * k)
	sub = encode.AppendPlanes(nil, vals)
	if sub == nil {
		t.Fatalf("%d words with %d upper bytes are no planes", n, few)
	}
	return vals, sub
}

// TestPlanes: the short way and the general one give what was encoded, of one block of Zstd and of many.
func TestPlanes(t *testing.T) {
	for _, n := range []int{4096, 4097, 32768, 32769, 65536} {
		for _, few := range []int{2, 10, 40} {
			vals, sub := planesOf[uint32](t, n, 1, few)
			short, ok, general, err := block.Planes(sub, n)
			if !ok || err != nil || !slices.Equal(short, vals) || !slices.Equal(general, vals) {
				t.Errorf("%d words of 4 bytes, %d upper ones: short %v %v, general %v %v", n, few, ok, slices.Equal(short, vals), err, slices.Equal(general, vals))
			}
			for k := 1; k <= 2; k++ {
				wide, sub := planesOf[uint64](t, n, k, few)
				short, ok, general, err := block.Planes64(sub, n)
				if !ok || err != nil || !slices.Equal(short, wide) || !slices.Equal(general, wide) {
					t.Errorf("%d words of 8 bytes, %d upper ones, %d lower: short %v, general %v", n, few, k, ok, err)
				}
			}
		}
	}
}

// TestDamagedPlanes: whatever byte is another, the short way either gives what the general one does, or leaves it to that.
func TestDamagedPlanes(t *testing.T) {
	vals, sub := planesOf[uint32](t, 4096, 1, 10)
	r := rand.New(rand.NewPCG(5, 6))
	refused, taken := 0, 0
	for range 3000 {
		damaged := slices.Clone(sub)
		at := r.IntN(len(damaged))
		if r.IntN(2) == 0 {
			at = []int{r.IntN(120), len(damaged) - 1 - r.IntN(120)}[r.IntN(2)]
		}
		damaged[at] ^= 1 << r.IntN(8)
		short, ok, general, err := block.Planes(damaged, len(vals))
		if !ok {
			refused++
			continue
		}
		taken++
		if err != nil || !slices.Equal(short, general) {
			t.Fatalf("byte %d: the short way gives values where the general one says %v", at, err)
		}
	}
	if refused == 0 || taken == 0 {
		t.Errorf("%d refused, %d taken: the damage tells nothing", refused, taken)
	}
}

func FuzzPlanes(f *testing.F) {
	_, sub := planesOf[uint32](f, 4096, 1, 3)
	f.Add(sub, 4096)
	f.Fuzz(func(t *testing.T, sub []byte, n int) {
		if n < 2 || n > 1<<16 {
			return
		}
		short, ok, general, err := block.Planes(sub, n)
		if ok && (err != nil || !slices.Equal(short, general)) {
			t.Fatalf("taken, and the general way says %v", err)
		}
	})
}
