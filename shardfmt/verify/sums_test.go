package verify

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/internal/ranges"
)

// TestManyChecksums: checksums of any ranges, added in any order, are found by what they cover and get all their bytes; those that have them are not
// looked at again.
func TestManyChecksums(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		o, data := &object{}, make([]byte, 300)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		distinct := map[[2]int64]bool{}
		for range r.IntN(12) {
			start := r.Int64N(290)
			end := start + r.Int64N(min(60, 300-start))
			o.addSum(start, end, xxh3.Hash(data[start:end]))
			o.addSum(start, end, xxh3.Hash(data[start:end]))
			distinct[[2]int64{start, end}] = true
		}
		if len(o.sums) != len(distinct) || len(o.pieces) != len(distinct) {
			t.Fatalf("%d checksums, read up to %d ends, want %d", len(o.sums), len(o.pieces), len(distinct))
		}
		bad := []*ranges.Sum{ranges.NewSum(8, 8, 1), ranges.NewSum(8, 80, xxh3.Hash(data[8:79])), ranges.NewSum(250, 301, xxh3.Hash(data[250:]))}
		o.sums = append(o.sums, bad...)
		o.sortSums()
		rd := &reader{o: o}
		for range 100 {
			start := r.Int64N(299)
			end := start + 1 + r.Int64N(299-start)
			covered := slices.ContainsFunc(o.sums, func(s *ranges.Sum) bool { return s.Start <= start && end <= s.End })
			wanted := slices.ContainsFunc(o.sums, func(s *ranges.Sum) bool { return start < s.End && end > s.Start })
			if o.covered(start, end) != covered || rd.wanted(start, end) != wanted {
				t.Fatalf("[%d, %d): covered %v, wanted %v", start, end, !covered, !wanted)
			}
		}
		for at := 0; at < len(data); {
			n := min(1+r.IntN(40), len(data)-at)
			rd.feed(int64(at), data[at:at+n])
			at += n
		}
		for _, s := range o.sums {
			if s.Holds() == slices.Contains(bad, s) {
				t.Fatalf("[%d, %d) holds: %v", s.Start, s.End, s.Holds())
			}
		}
		if rd.feed(301, nil); rd.whole != len(o.sums) {
			t.Fatalf("%d of %d checksums are looked at after the end", len(o.sums)-rd.whole, len(o.sums))
		}
	}
}
