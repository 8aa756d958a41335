package budget

import (
	"cmp"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/uncleared"
)

// Giving passes memory that was lent on to the buffers of a batch, which may outlive the account: whoever releases the last
// buffer in it gives it back, and where nobody does, it is the collector's as any other.
type Giving struct {
	lender *lender
	given  []*piece // of all that was lent, by address
}

// piece is memory that was lent, and how many buffers lie in it.
type piece struct {
	bytes   []byte
	buffers atomic.Int64
}

// Give begins to pass on what was lent since the last NextBatch. Nobody asks the account for memory until Close. It is nil where
// memory is not used again.
func (a *Account) Give() *Giving {
	if a == nil || !a.lender.reuse || len(a.lender.lent) == 0 {
		return nil
	}
	g := &Giving{lender: &a.lender}
	for _, b := range a.lender.lent {
		g.given = append(g.given, &piece{bytes: b})
	}
	slices.SortFunc(g.given, func(a, b *piece) int { return cmp.Compare(a.start(), b.start()) })
	return g
}

// start is where the memory of a piece begins.
func (p *piece) start() uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(p.bytes))) }

// Buffer gives b anew, with one reference, if it lies in memory that was lent; else b itself.
func (g *Giving) Buffer(b *memory.Buffer) *memory.Buffer {
	if g == nil || b == nil || b.Len() == 0 {
		return b
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b.Bytes())))
	i, exact := slices.BinarySearchFunc(g.given, at, func(p *piece, at uintptr) int { return cmp.Compare(p.start(), at) })
	if !exact {
		i-- // the last one that begins before
	}
	if i < 0 || at-g.given[i].start() >= uintptr(cap(g.given[i].bytes)) {
		return b
	}
	g.given[i].buffers.Add(1)
	return memory.NewBufferWithAllocator(b.Bytes(), g.given[i])
}

// Close takes what buffers lie in from the account, which has the rest for its next batch.
func (g *Giving) Close() {
	if g == nil {
		return
	}
	g.lender.lent = g.lender.lent[:0]
	for _, p := range g.given {
		if p.buffers.Load() == 0 {
			g.lender.lent = append(g.lender.lent, p.bytes)
		}
	}
}

// Free implements memory.Allocator: a buffer's last reference was released.
func (p *piece) Free([]byte) {
	if p.buffers.Add(-1) == 0 {
		uncleared.GiveBack(p.bytes)
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
