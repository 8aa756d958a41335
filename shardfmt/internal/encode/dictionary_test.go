package encode

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Entries are brought into the order of their values, and codes with them, whether or not their places fit behind their distances.
func TestSortEntries(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	spans := []uint64{100, 1 << 20, 1 << 53, 1 << 54, 1 << 55, 1<<63 + 1, 0}
	for _, span := range spans {
		for _, n := range []int{64, 1023, 1024, 3000} {
			base := r.Uint64()
			some := map[uint64]bool{}
			for len(some) < n {
				v := r.Uint64()
				if span != 0 {
					v = base + v%max(span, uint64(4*n))
				}
				some[v] = true
			}
			var entries []uint64
			for v := range some {
				entries = append(entries, v)
			}
			checkSorted(t, entries)
		}
	}
	checkSorted(t, []uint32{1<<32 - 1, 0, 7, 3})
	checkSorted(t, []uint8{255, 0, 128, 127})
}

func checkSorted[U word](t *testing.T, entries []U) {
	t.Helper()
	e := NewEncoder(Options{})
	e.borrow()
	sorted, rank := sortEntries(e, entries)
	want := slices.Sorted(slices.Values(entries))
	if !slices.Equal(sorted, want) {
		t.Fatalf("%d entries out of order", len(entries))
	}
	if rank[0] != 0 {
		t.Errorf("null has the code %d", rank[0])
	}
	for i, v := range entries {
		if sorted[rank[i+1]-1] != v {
			t.Fatalf("code %d becomes %d, which is another value", i+1, rank[i+1])
		}
	}
}

// Ids are numbered by descending count, and at equal counts in their order, whether counts are few or go far.
func TestRankByCount(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	few := 0
	for range 500 {
		counts := make([]uint32, 1+r.IntN(60))
		most := 1 + r.IntN(120)
		codes := []uint32{0}
		for id := range counts {
			counts[id] = uint32(1 + r.IntN(most))
			codes = append(codes, uint32(id+1))
		}
		order := make([]uint32, len(counts))
		for id := range order {
			order[id] = uint32(id)
		}
		slices.SortStableFunc(order, func(a, b uint32) int { return int(counts[b]) - int(counts[a]) })
		e := NewEncoder(Options{})
		e.borrow()
		if rankFew(e, counts) != nil {
			few++
		}
		rank := rankByCount(e, counts, codes)
		for i, id := range order {
			if rank[id] != uint32(i+1) || codes[id+1] != uint32(i+1) || codes[0] != 0 {
				t.Fatalf("counts %v: id %d is number %d, and its code %d; %d was to be expected", counts, id, rank[id], codes[id+1], i+1)
			}
		}
	}
	if few < 50 || few > 450 {
		t.Errorf("%d of 500 by counts", few)
	}
}

// Values are numbered by how often they come, and at equal counts by where they first do, whatever their lengths and wherever they lie.
func TestNumberBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var kinds []string
	for n := range 25 {
		for range 12 {
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(r.IntN(3)) // zeros too, which are as what is not there
			}
			kinds = append(kinds, string(b))
		}
	}
	for range 30 {
		values, valid := &byteValues{offsets: []uint64{0}}, make([]byte, 500)
		var all []string
		counts, first := map[string]int{}, map[string]int{}
		for i := range 4000 {
			v := kinds[min(r.IntN(len(kinds)), r.IntN(len(kinds)))]
			all = append(all, v)
			values.data = append(values.data, v...)
			values.offsets = append(values.offsets, uint64(len(values.data)))
			if r.IntN(10) == 0 {
				continue
			}
			valid[i/8] |= 1 << (i % 8)
			if counts[v]++; counts[v] == 1 {
				first[v] = i
			}
		}
		values.n = len(all)
		e := NewEncoder(Options{})
		e.borrow()
		codes, entries := e.numberBytes(values, valid, 1000)
		if len(entries) != len(counts) {
			t.Fatalf("%d entries of %d", len(entries), len(counts))
		}
		for i, v := range all {
			switch {
			case valid[i/8]>>(i%8)&1 == 0:
				if codes[i] != 0 {
					t.Fatalf("null has the code %d", codes[i])
				}
			case int(entries[codes[i]-1]) != first[v]:
				t.Fatalf("value %q has the code of %q", v, all[entries[codes[i]-1]])
			}
		}
		for k := range entries[1:] {
			a, b := all[entries[k]], all[entries[k+1]]
			if counts[a] < counts[b] || counts[a] == counts[b] && first[a] > first[b] {
				t.Fatalf("%d times %q before %d times %q", counts[a], a, counts[b], b)
			}
		}
	}
}

// Numbers of one and two bytes are numbered by a table of all of them as the others are by their hashes, and the table is empty again, also where they were
// too many.
func TestNumberNarrow(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 41))
	e := NewEncoder(Options{})
	e.borrow()
	for _, few := range []int{1, 5, 300, 1 << 16} {
		testNumberNarrow(t, e, func() uint8 { return uint8(r.IntN(few)) })
		testNumberNarrow(t, e, func() uint16 { return uint16(r.IntN(few)) })
	}
}

func testNumberNarrow[U word](t *testing.T, e *Encoder, next func() U) {
	t.Helper()
	vals := make([]U, 3000)
	for i := range vals {
		vals[i] = next()
	}
	for _, limit := range []int{1, 200, 3000} {
		codes, hashed := make([]uint32, len(vals)), make([]uint32, len(vals))
		values, counts := numberNarrow(e, codes, vals, make([]U, 0, limit), make([]uint32, 0, limit))
		wantValues, wantCounts := numberHashed(e, hashed, vals, nil, make([]U, 0, limit), make([]uint32, 0, limit))
		if !slices.Equal(values, wantValues) || !slices.Equal(counts, wantCounts) || values != nil && !slices.Equal(codes, hashed) {
			t.Fatalf("at most %d values of %T: %d of them, want %d", limit, vals, len(values), len(wantValues))
		}
		if *e.narrow != [1 << 16]uint32{} {
			t.Fatalf("at most %d values of %T: the table is not empty", limit, vals)
		}
	}
}
