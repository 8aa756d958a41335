package scan

import (
	"math/rand/v2"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// rowsOf are the rows that matches select.
func rowsOf(list []match) (rows []uint64) {
	for _, m := range list {
		for i := m.span.Start; i < m.span.End; i++ {
			if simd.BitsAt(m.selected, int(i-m.rows.Start), 1) == 1 {
				rows = append(rows, i)
			}
		}
	}
	return rows
}

// Neighbours become one match of the same rows, and none that has more rows than a batch, unless it came so.
func TestTogether(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var mem bitmaps
	for range 300 {
		mem.reset()
		var found []match
		for at := uint64(0); at < 60_000; at += r.Uint64N(3000) {
			rows := colstream.Range{Start: at, End: at + 1 + r.Uint64N(700)}
			bitmap := mem.take(rows.Len())
			for range 1 + r.IntN(4) {
				k := r.Uint64N(rows.Len())
				bitmap[k/8] |= 1 << (k % 8)
			}
			found = appendMatch(found, rows, bitmap)
			at = rows.End
		}
		want, before := rowsOf(found), len(found)
		const batch = 8192
		got := together(found, batch, &mem)
		if len(got) >= before {
			t.Fatalf("%d matches of %d", len(got), before)
		}
		for i, row := range rowsOf(got) {
			if row != want[i] {
				t.Fatalf("row %d, %d is wanted", row, want[i])
			}
		}
		if n := len(rowsOf(got)); n != len(want) {
			t.Fatalf("%d rows of %d", n, len(want))
		}
		for _, m := range got {
			if m.rows.Len() > batch {
				t.Fatalf("a match of %d rows", m.rows.Len())
			}
		}
	}
}

// Windows have the rows that they are requested to have, and all of them are the ranges again.
func TestCutWindow(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		var list []colstream.Range
		var want []uint64
		for at := uint64(0); len(list) < 1+r.IntN(6); {
			at += 1 + r.Uint64N(9)
			rows := colstream.Range{Start: at, End: at + 1 + r.Uint64N(20)}
			for at = rows.Start; at < rows.End; at++ {
				want = append(want, at)
			}
			list = append(list, rows)
		}
		for left := list; len(left) > 0; {
			n := 1 + r.Uint64N(12)
			var window []colstream.Range
			window, left = cutWindow(left, n)
			got := uint64(0)
			for _, rows := range window {
				got += rows.Len()
				for at := rows.Start; at < rows.End; at++ {
					if at != want[0] {
						t.Fatalf("row %d, %d is wanted", at, want[0])
					}
					want = want[1:]
				}
			}
			if got != n && len(left) > 0 || got > n {
				t.Fatalf("a window of %d rows, %d are wanted", got, n)
			}
		}
		if len(want) > 0 {
			t.Fatalf("%d rows are missing", len(want))
		}
	}
}
