package scan

import (
	"math/rand/v2"
	"testing"

	"github.com/shardcat/shardcat/internal/ranges"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
)

// A batch starts with the rows that indexes chose, whatever their ranges look like.
func TestStartWithChosenRows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	for range 2000 {
		var chosen []ranges.Range
		set := map[uint64]bool{}
		for at := uint64(0); at < 200; {
			at += uint64(r.IntN(20))
			c := ranges.Range{Start: at, End: at + uint64(r.IntN(30))}
			for i := c.Start; i < c.End; i++ {
				set[i] = true
			}
			at = c.End
			chosen = append(chosen, c)
		}
		start := uint64(r.IntN(150))
		of := colstream.Range{Start: start, End: start + 1 + uint64(r.IntN(100))}
		x := &selector{chosen: &chosen}
		bitmap, left := x.start(of)
		n := 0
		for i := of.Start; i < of.End; i++ {
			k := i - of.Start
			if in := bitmap[k/8]>>(k%8)&1 == 1; in != set[i] {
				t.Fatalf("%v of %v: row %d: %v", of, chosen, i, in)
			} else if in {
				n++
			}
		}
		if n != left || len(bitmap) != int(of.Len()+7)/8 {
			t.Fatalf("%d rows, %d in %d bytes", left, n, len(bitmap))
		}
	}
	backwards := []ranges.Range{{Start: 90, End: 10}, {Start: 5, End: 3}, {Start: 50, End: 1 << 60}}
	if _, left := (&selector{chosen: &backwards}).start(colstream.Range{Start: 40, End: 80}); left > 40 {
		t.Fatalf("%d rows of 40", left)
	}
	if _, left := (&selector{}).start(colstream.Range{Start: 40, End: 81}); left != 41 {
		t.Fatalf("%d rows of 41 without indexes", left)
	}
}
