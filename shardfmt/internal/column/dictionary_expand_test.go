package column

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// Entries that are all short and of one size, copied eight bytes at once, are the same as one by one, to the last byte and no further.
func TestGatherShort(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		size, entries, n := 1+r.IntN(mostShort), 1+r.IntN(40), r.IntN(70)
		text := make([]byte, size*entries)
		for i := range text {
			text[i] = byte(r.Uint32())
		}
		codes, want := make([]uint32, n), []byte(nil)
		for i := range codes {
			codes[i] = uint32(r.IntN(entries))
			want = append(want, text[int(codes[i])*size:][:size]...)
		}
		got := bytes.Repeat([]byte{0xEE}, len(want)+8)
		gatherShort(got[:len(want):len(want)], codes, text, size)
		if !bytes.Equal(got[:len(want)], want) || !bytes.Equal(got[len(want):], bytes.Repeat([]byte{0xEE}, 8)) {
			t.Fatalf("%d codes of %d bytes: %x, want %x", n, size, got, want)
		}
	}
}

// Which entries are short and of one size, and that offsets of these are a ramp as the sum of their lengths is.
func TestShortEntries(t *testing.T) {
	for _, c := range []struct {
		ends []int64
		n    int
		v    *validity
		want int
	}{
		{[]int64{0, 3, 6, 9}, 100, &validity{}, 3},
		{[]int64{5, 8, 11}, 100, &validity{}, 3},
		{[]int64{0, 3, 6, 9}, 3, &validity{}, 0}, // fewer values than that is worth
		{[]int64{0, 3, 6, 10}, 100, &validity{}, 0},
		{[]int64{0, 4, 6, 8}, 100, &validity{}, 0},
		{[]int64{0, 9, 18}, 100, &validity{}, 0},
		{[]int64{0, 0, 0}, 100, &validity{}, 0},
		{[]int64{0}, 100, &validity{}, 0},
		{[]int64{0, 3, 6, 9}, 100, &validity{bits: []byte{1}}, 0},
	} {
		if got := shortEntries(c.ends, c.n, c.v); got != c.want {
			t.Errorf("ends %v of %d values: %d, want %d", c.ends, c.n, got, c.want)
		}
	}
	many := make([]int64, mostWords+2)
	simd.Ramp(simd.Cast[uint64](many), 0, 3)
	if got := shortEntries(many[:mostWords+1], 1<<20, &validity{}); got != 0 {
		t.Errorf("%d entries: %d", mostWords, got)
	}
	if got := shortEntries(many[:mostWords], 1<<20, &validity{}); got != 3 {
		t.Errorf("%d entries: %d", mostWords-1, got)
	}
	codes, ends := []uint32{2, 0, 1, 1}, many[:5]
	sums, ramp := make([]int64, 5), make([]int64, 5)
	size := addLengths(sums, codes, ends, &validity{})
	simd.Ramp(simd.Cast[uint64](ramp), 0, 3)
	if size != 12 || [5]int64(sums) != [5]int64(ramp) {
		t.Errorf("offsets %v, by a ramp %v", sums, ramp)
	}
}
