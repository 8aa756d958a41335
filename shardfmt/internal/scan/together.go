package scan

import (
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// together makes one match of neighbours that lie within the rows of a batch. Range indexes and indexes of terms leave short ranges
// of rows, and a batch of a few rows each would cost more than reading them.
func together(found []match, rows uint64, mem *bitmaps) []match {
	out := found[:0]
	for len(found) > 0 {
		n := 1
		for n < len(found) && found[n].rows.End-found[0].rows.Start <= rows {
			n++
		}
		out = append(out, joinMatches(found[:n], mem))
		found = found[n:]
	}
	return out
}

// joinMatches makes one match of some, in order.
func joinMatches(list []match, mem *bitmaps) match {
	first, last := list[0], list[len(list)-1]
	if len(list) == 1 {
		return first
	}
	m := match{
		rows: colstream.Range{Start: first.rows.Start, End: last.rows.End},
		span: colstream.Range{Start: first.span.Start, End: last.span.End},
	}
	m.selected = mem.take(m.rows.Len())
	for _, part := range list {
		simd.CopyBits(m.selected, int(part.rows.Start-m.rows.Start), part.selected, 0, int(part.rows.Len()))
	}
	return m
}

// bitmaps are those of the rows that are left of a window's batches, in pieces of memory that the next window uses again. One
// selector makes them at a time.
type bitmaps struct {
	piece []byte // its first len bytes are taken
}

// bitmapPiece is the size of a piece of memory for bitmaps: four of the largest usual batches.
const bitmapPiece = 32 << 10

// take gives a bitmap of n bits, none set.
func (m *bitmaps) take(n uint64) []byte {
	size := int(n+7) / 8
	if size > bitmapPiece {
		return make([]byte, size)
	}
	at := len(m.piece)
	if at+size > cap(m.piece) {
		m.piece, at = make([]byte, 0, bitmapPiece), 0 // the one before stays with those who look at it
	}
	m.piece = m.piece[:at+size]
	b := m.piece[at : at+size : at+size]
	clear(b)
	return b
}

// reset lets the memory be used again: nobody looks at a bitmap any more.
func (m *bitmaps) reset() {
	m.piece = m.piece[:0]
}
