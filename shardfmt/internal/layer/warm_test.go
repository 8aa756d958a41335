package layer

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestWarm: what Warm has read is searched without a request, whatever lies between the keys, and gives what a search of each key gives.
func TestWarm(t *testing.T) {
	ctx := context.Background()
	for _, o := range []WriteOptions{{MinDataBlock: 512, MinIndexBlock: 512, MinBranch: 4}, {MinDataBlock: 512, MinIndexBlock: 512, MinBranch: 4, Compression: Snappy}} {
		data, types, keys, _ := tree(t, 30_000, 1, o)
		if len(data) < 4*tailSize {
			t.Fatalf("%d bytes all lie in the end that opening reads", len(data))
		}
		r := rand.New(rand.NewPCG(1, 2))
		for _, most := range []int64{1 << 10, 64 << 10, 8 << 20} {
			f, c := mustOpen(t, data, types)
			low, high := keys[0][0], keys[0][len(keys[0])-1]
			var ends []int64
			for range 400 {
				ends = append(ends, low-5+r.Int64N(high-low+10))
			}
			slices.Sort(ends)
			ends = slices.Compact(ends)
			var spans []Span
			for i := 0; i < len(ends); i += 2 {
				end := ends[i]
				if r.IntN(4) == 0 && i+1 < len(ends) {
					end = ends[i+1] - 1
				}
				spans = append(spans, Span{Value{Int: ends[i]}, Value{Int: end}})
			}
			requests := int64(0)
			for left := spans; len(left) > 0; {
				before := c.Counters().Gets
				n, err := f.Warm(ctx, left, most)
				if err != nil || n < 1 {
					t.Fatal(n, err)
				}
				warmed := c.Counters().Gets
				requests += warmed - before
				for _, s := range left[:n] {
					var got []int64
					if err := f.InSpan(ctx, s, func(k Value, row uint64) error {
						if keys[0][row] != k.Int {
							t.Errorf("row %d is %d, want %d", row, k.Int, keys[0][row])
						}
						got = append(got, k.Int)
						return nil
					}); err != nil {
						t.Fatal(err)
					}
					from, _ := slices.BinarySearch(keys[0], s.Low.Int)
					to, _ := slices.BinarySearch(keys[0], s.High.Int+1)
					if !slices.Equal(got, keys[0][from:to]) {
						t.Errorf("%d to %d: %d keys, want %d", s.Low.Int, s.High.Int, len(got), to-from)
					}
				}
				if more := c.Counters().Gets - warmed; more > 0 && (n > 1 || most > 1<<20) {
					t.Errorf("%d spans of %d bytes cost %d requests more", n, most, more)
				}
				left = left[n:]
			}
			if most == 8<<20 && requests > 6 {
				t.Errorf("%d requests", requests)
			}
		}
	}
}
