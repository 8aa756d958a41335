package simd

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// bitSet reports a bit of a bitmap, the plain way.
func bitSet(bitmap []byte, i int) bool { return bitmap[i/8]>>(i%8)&1 == 1 }

// chosen is a bitmap of n bits with random ones: none, few, many, runs of them, or all.
func chosen(r *rand.Rand, n int) []byte {
	bitmap := make([]byte, (n+7)/8)
	share, run := r.IntN(5), 1+r.IntN(2)*r.IntN(100)
	for i := 0; i < n; i++ {
		if share == 4 || share > 0 && r.IntN(1<<(2*share-1)) == 0 {
			for end := min(n, i+run); i < end; i++ {
				bitmap[i/8] |= 1 << (i % 8)
			}
		}
	}
	return bitmap
}

// What a bitmap chooses is compacted as one by one, from any bit on.
func testCompact[U Unsigned](t *testing.T, r *rand.Rand) {
	for range 300 {
		n, from := r.IntN(300), r.IntN(80)
		bitmap, src, want := chosen(r, from+n), random[U](r, n), []U{}
		for i, v := range src {
			if bitSet(bitmap, from+i) {
				want = append(want, v)
			}
		}
		got := make([]U, len(want))
		if Compact(got, src, bitmap, from); !slices.Equal(got, want) {
			t.Fatalf("%d values, bits from %d of %08b: %v, want %v", n, from, bitmap, got, want)
		}
	}
}

// The same of values of other sizes.
func TestCompactBytes(t *testing.T) { eachTier(t, testCompactBytes) }

func testCompactBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 12))
	for _, size := range []int{1, 3, 12, 16, 17} {
		for range 100 {
			n, from := r.IntN(200), r.IntN(80)
			bitmap, src, want := chosen(r, from+n), random[uint8](r, n*size), []byte{}
			for i := range n {
				if bitSet(bitmap, from+i) {
					want = append(want, src[i*size:(i+1)*size]...)
				}
			}
			got := make([]byte, len(want))
			if CompactBytes(got, src, size, bitmap, from); !slices.Equal(got, want) {
				t.Fatalf("%d values of %d, bits from %d of %08b: %x, want %x", n, size, from, bitmap, got, want)
			}
		}
	}
}

// Bits are copied, compacted and counted as one by one, and those beside them stay as they are.
func TestBits(t *testing.T) { eachTier(t, testBits) }

func testBits(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 13))
	for i := range 2000 {
		n, at, from, first := r.IntN(300+i%10/9*6000), r.IntN(80), r.IntN(80), r.IntN(80)
		src, bitmap := random[uint8](r, (from+n+7)/8), chosen(r, first+n)
		before := random[uint8](r, (at+n+7)/8)
		copied, some := slices.Clone(before), slices.Clone(before)
		wantCopied, wantSome, ones := slices.Clone(before), slices.Clone(before), 0
		and := random[uint8](r, len(src))
		wantAnd := slices.Clone(and)
		put := func(dst []byte, i int, one bool) {
			if dst[i/8] &^= 1 << (i % 8); one {
				dst[i/8] |= 1 << (i % 8)
			}
		}
		for i := range n {
			put(wantCopied, at+i, bitSet(src, from+i))
			if bitSet(bitmap, first+i) {
				put(wantSome, at+ones, bitSet(src, from+i))
				ones++
			}
		}
		CopyBits(copied, at, src, from, n)
		CompactBits(some, at, src, from, bitmap, first, n)
		for i, b := range wantAnd {
			wantAnd[i] = b & src[i]
		}
		AndBits(and, src)
		if all := ones == n; AllOnes(bitmap, first, n) != all || !slices.Equal(and, wantAnd) {
			t.Fatalf("%d bits from %d: all %t, want %t; and %08b, want %08b", n, first, !all, all, and, wantAnd)
		}
		if !slices.Equal(copied, wantCopied) || !slices.Equal(some, wantSome) || OnesBetween(bitmap, first, n) != ones {
			t.Fatalf("%d bits from %d to %d, chosen from %d: %08b, want %08b; %08b, want %08b", n, from, at, first, copied, wantCopied, some, wantSome)
		}
	}
}
