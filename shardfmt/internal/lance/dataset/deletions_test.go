package dataset

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// The rows to read cover all that are not deleted, and bridge short runs only; the n-th row is found by its number.
func TestSpans(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		const n = 20_000
		deleted := roaring.New()
		for range r.IntN(6) {
			start := uint64(r.IntN(n))
			deleted.AddRange(start, min(start+uint64(r.IntN(4000)), n))
		}
		for range r.IntN(50) {
			deleted.Add(uint32(r.IntN(n)))
		}
		low := uint64(r.IntN(n))
		high := low + uint64(r.IntN(n-int(low)+1))
		var live []uint64
		for row := low; row < high; row++ {
			if !deleted.Contains(uint32(row)) {
				live = append(live, row)
			}
		}
		read, last := 0, uint64(0)
		for i, s := range spans(deleted, low, high) {
			if i > 0 && s.Start-last < bridge || s.Start < low || s.End > high || deleted.Contains(uint32(s.Start)) || deleted.Contains(uint32(s.End-1)) {
				t.Fatalf("span %v after %d of [%d, %d)", s, last, low, high)
			}
			last = s.End
			liveRuns(deleted, s.Start, s.End, func(start, end uint64) { read += int(end - start) })
		}
		if read != len(live) {
			t.Fatalf("%d rows in spans, want %d", read, len(live))
		}
		all := uint64(0)
		for row := range uint64(n) {
			if !deleted.Contains(uint32(row)) {
				if all%997 == 0 && nth(deleted, all, n) != row {
					t.Fatalf("row %d is at %d, want %d", all, nth(deleted, all, n), row)
				}
				all++
			}
		}
	}
}

// Lists of deleted rows that make no sense are corrupt.
func TestDeletionsLie(t *testing.T) {
	bitmap, _ := roaring.BitmapOf(1, 5, 99).ToBytes()
	if rows, err := parseDeletions(bitmap, true, 100); err != nil || rows.GetCardinality() != 3 {
		t.Fatalf("%v, %v", rows, err)
	}
	if _, err := parseDeletions(bitmap, true, 99); !errors.Is(err, corrupt.ErrCorrupt) {
		t.Errorf("a row beyond the fragment: %v", err)
	}
	for n := range len(bitmap) {
		if _, err := parseDeletions(bitmap[:n], true, 100); !errors.Is(err, corrupt.ErrCorrupt) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
	for _, bad := range [][]byte{nil, []byte("ARROW1"), bitmap} {
		if _, err := parseDeletions(bad, false, 100); !errors.Is(err, corrupt.ErrCorrupt) {
			t.Errorf("%q as a list: %v", bad, err)
		}
	}
}

// FuzzDeletions: whatever the bytes, rows below the limit or an error of stored data come out.
func FuzzDeletions(f *testing.F) {
	bitmap, _ := roaring.BitmapOf(1, 5, 99).ToBytes()
	f.Add(bitmap, true)
	f.Add([]byte("ARROW1\x00\x00"), false)
	fixture(f, func(name string, data []byte) []byte {
		if len(name) > 10 && name[:10] == "_deletions" {
			f.Add(data, name[len(name)-3:] == "bin")
		}
		return data
	})
	f.Fuzz(func(t *testing.T, b []byte, bitmap bool) {
		rows, err := parseDeletions(b, bitmap, 1000)
		if err == nil && !rows.IsEmpty() && rows.Maximum() >= 1000 || err != nil && !errors.Is(err, corrupt.ErrCorrupt) {
			t.Errorf("%v, %v", rows, err)
		}
	})
}
