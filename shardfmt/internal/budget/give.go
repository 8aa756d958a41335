package budget

import (
	"cmp"
	"slices"
	"sort"
	"sync/atomic"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/bufpool"
)

// Giving passes memory that was lent on to the buffers of a batch, which may outlive the account: whoever releases the last
// buffer in it gives it back, and where nobody does, it is the collector's as any other.
type Giving struct {
	lender *lender
	given  []piece // of all that was lent, by address
}

// piece is memory that was lent, and how many buffers lie in it.
type piece struct {
	bytes   []byte
	buffers atomic.Int64
	last    *memory.Buffer // of them
}

// Give begins to pass on what was lent since the last NextBatch. Nobody asks the account for memory until Close. It is nil where
// memory is not used again.
func (a *Account) Give() *Giving {
	if a == nil || !a.lender.reuse || len(a.lender.lent) == 0 {
		return nil
	}
	lent := a.lender.lent
	slices.SortFunc(lent, func(a, b []byte) int { return cmp.Compare(start(a), start(b)) })
	g := &a.lender.giving // only the pieces outlive Close
	*g = Giving{lender: &a.lender, given: make([]piece, len(lent))}
	for i, b := range lent {
		g.given[i].bytes = b
	}
	return g
}

// start is where memory begins.
func start(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// Buffer gives b again, with one reference, if it lies in memory that was lent; else b itself.
func (g *Giving) Buffer(b *memory.Buffer) *memory.Buffer {
	p := g.find(b)
	if p == nil {
		return b
	}
	p.buffers.Add(1)
	p.last = memory.NewBufferWithAllocator(b.Bytes(), p)
	return p.last
}

// Owes reports whether a buffer lies in memory that was lent, and is not what Buffer gave last of it.
func (g *Giving) Owes(b *memory.Buffer) bool {
	p := g.find(b)
	return p != nil && p.last != b
}

// find is what a buffer lies in, nil if that was not lent.
func (g *Giving) find(b *memory.Buffer) *piece {
	if g == nil || b == nil || b.Len() == 0 {
		return nil
	}
	at := start(b.Bytes())
	i := sort.Search(len(g.given), func(i int) bool { return start(g.given[i].bytes) > at }) - 1 // the last one that begins there or before
	if i < 0 || at-start(g.given[i].bytes) >= uintptr(cap(g.given[i].bytes)) {
		return nil
	}
	return &g.given[i]
}

// Close takes what buffers lie in from the account, which has the rest for its next batch.
func (g *Giving) Close() {
	if g == nil {
		return
	}
	g.lender.lent = g.lender.lent[:0]
	for i := range g.given {
		p := &g.given[i]
		if p.last = nil; p.buffers.Load() == 0 {
			g.lender.lent = append(g.lender.lent, p.bytes)
		}
	}
	g.given = nil // whoever lets go of a batch lets go of its memory
}

// Free implements memory.Allocator: a buffer's last reference was released.
func (p *piece) Free([]byte) {
	if p.buffers.Add(-1) == 0 {
		bufpool.GiveBack(p.bytes)
		p.bytes = nil
	}
}

// Allocate implements memory.Allocator, for who makes a buffer of a batch larger.
func (p *piece) Allocate(size int) []byte { return memory.DefaultAllocator.Allocate(size) }

// Reallocate implements memory.Allocator.
func (p *piece) Reallocate(size int, b []byte) []byte {
	out := memory.DefaultAllocator.Allocate(size)
	copy(out, b)
	return out
}
