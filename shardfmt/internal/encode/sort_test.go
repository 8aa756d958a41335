package encode

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Words come out as slices.Sort has them, few and many, close together and far apart.
func TestSortWords(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 11))
	e := NewEncoder(Options{})
	e.borrow()
	for range 500 {
		words := make([]uint64, r.IntN(3*leastDigits))
		for i := range words {
			words[i] = r.Uint64() >> r.IntN(64) << r.IntN(40) & r.Uint64()
		}
		want := slices.Sorted(slices.Values(words))
		if sortWords(e, words); !slices.Equal(words, want) {
			t.Fatalf("%d words in another order", len(words))
		}
	}
}

// Entries come by value, and each code's rank is where its entry went, also of entries that differ in nothing but their lowest bits.
func TestSortAlikeEntries(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 12))
	e := NewEncoder(Options{})
	for range 300 {
		e.borrow()
		known := map[uint64]bool{0: true, ^uint64(0): true}
		for range 1 + r.IntN(2*leastDigits) {
			known[uint64(r.IntN(4))<<62|uint64(r.IntN(1+r.IntN(3000)))] = true
		}
		var entries []uint64
		for v := range known {
			entries = append(entries, v)
		}
		sorted, rank := sortEntries(e, entries)
		if !slices.IsSorted(sorted) || rank[0] != 0 {
			t.Fatal("not by value")
		}
		for i, v := range entries {
			if sorted[rank[i+1]-1] != v {
				t.Fatalf("entry %d of %d went elsewhere", i, len(entries))
			}
		}
	}
}

// Runs are those of the plain loop.
func TestSplitRuns(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 13))
	for range 300 {
		vals := make([]uint16, 1+r.IntN(500))
		for i := range vals {
			vals[i] = uint16(r.IntN(1 + r.IntN(3)))
		}
		wantHeads, wantLengths := runsOf(vals)
		heads, lengths := make([]uint16, len(wantHeads)), make([]uint32, len(wantHeads))
		if splitRuns(vals, heads, lengths); !slices.Equal(heads, wantHeads) || !slices.Equal(lengths, wantLengths) {
			t.Fatalf("%v are %d runs", vals, len(wantHeads))
		}
	}
}

// With more entries than are counted, codes alone come to the limit; with as many they don't.
func TestMostEntries(t *testing.T) {
	counted := 0
	for n := 8; n < 70_000; n += 997 {
		for limit := 0; limit < 4*n; limit += 1 + n/50 {
			most := mostEntries(n, limit)
			if most > n/shareOfEntries || most > 0 && codesSize(n, most) >= limit {
				t.Fatalf("%d entries of %d values don't stay below %d", most, n, limit)
			}
			if more := most + 1; more <= n/shareOfEntries && codesSize(n, more) < limit {
				t.Fatalf("%d entries of %d values stay below %d, too", more, n, limit)
			}
			if most > 0 && most < n/shareOfEntries {
				counted++
			}
		}
	}
	if counted < 100 {
		t.Fatalf("only %d limits bound anything", counted)
	}
}

// A block of texts ends before the first value that is beyond what it may hold, and has one value at least.
func TestBlockEnd(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 14))
	for range 400 {
		e := NewEncoder(Options{Profile: []Profile{Balanced, HighCompression}[r.IntN(2)]})
		offsets := []int64{0}
		for range 1 + r.IntN(6000) {
			offsets = append(offsets, offsets[len(offsets)-1]+int64(r.IntN(1+r.IntN(200)))+int64(r.IntN(300)/299*r.IntN(300_000)))
		}
		n := len(offsets) - 1
		taken := r.IntN(n)
		values, limit := bytesBlockValues, int64(bytesBlockSize)
		if e.o.Profile == HighCompression {
			values, limit = wideBlockValues, zstdBlockSize
		}
		want, wantWhole := 0, false
		for ; taken+want < n && want < values; want++ {
			if wantWhole = want > 0 && offsets[taken+want+1]-offsets[taken] > limit; wantWhole {
				want = e.wholeChunks(want)
				break
			}
		}
		size, whole := e.blockEnd(&Bytes{Offsets: offsets}, taken, n)
		if size != want || whole != (wantWhole || want == values) {
			t.Fatalf("%d values of %d, %v; not %d, %v", size, n-taken, whole, want, wantWhole)
		}
	}
}
