package encode

import (
	"math/rand/v2"
	"testing"
)

// With LongBlocks numbers get longer blocks, but only behind the first eight million: few keep the blocks that suit them.
func TestLongBlocks(t *testing.T) {
	vals := make([]uint64, FlushValues)
	for _, long := range []bool{false, true} {
		r := rand.New(rand.NewPCG(1, 2))
		e := NewEncoder(Options{Profile: MinimalCompression, LongBlocks: long})
		sizes := map[int]int{} // flushes that ended, by the size of their blocks
		for flush := range longAfter + 8 {
			start := uint64(0)
			for i := range vals { // near one another within a short block, and only there
				if i%lightBlock == 0 {
					start = r.Uint64N(1 << 40)
				}
				vals[i] = start + r.Uint64N(1<<10)
			}
			first := 0
			taken, err := CutNumbers(e, vals, nil, false, func(b Block) error {
				if first == 0 {
					first = b.Values
				}
				return nil
			})
			if err != nil || taken == 0 {
				t.Fatal(taken, err)
			}
			if flush >= longAfter {
				sizes[first]++
			} else if first != lightBlock {
				t.Fatalf("blocks of %d values at flush %d", first, flush)
			}
		}
		if want := map[bool]int{false: lightBlock, true: generalBlock}[long]; sizes[want] != 8 {
			t.Errorf("long blocks %v: sizes %v", long, sizes)
		}
	}
}
