package rowhash

import (
	"math/rand/v2"
	"testing"

	"github.com/zeebo/xxh3"
)

// Counts are those of a map, with rows whose hashes share halves and places among them.
func TestCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	want := map[xxh3.Uint128]int{}
	var c Counts
	if c.Take(xxh3.Uint128{}) {
		t.Error("a row of nothing")
	}
	hashes := make([]xxh3.Uint128, 5000)
	for i := range hashes {
		hashes[i] = xxh3.Uint128{Hi: r.Uint64N(100), Lo: r.Uint64N(40) << r.UintN(64)}
	}
	for range 100_000 {
		h := hashes[r.IntN(len(hashes))]
		if r.IntN(5) < 2 {
			if got := c.Take(h); got != (want[h] > 0) {
				t.Fatalf("%v: taken %v of %d", h, got, want[h])
			} else if got {
				want[h]--
			}
			continue
		}
		c.Add(h)
		want[h]++
	}
	for _, h := range hashes {
		for ; want[h] > 0; want[h]-- {
			if !c.Take(h) {
				t.Fatalf("%v: %d too few", h, want[h])
			}
		}
		if c.Take(h) {
			t.Fatalf("%v: too many", h)
		}
	}
}
