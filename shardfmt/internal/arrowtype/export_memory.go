package arrowtype

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/bufpool"

	"github.com/shardcat/shardcat/internal/view"
)

// released takes the memory of exported buffers back when their last reference is released, for those of batches that follow. Where
// nobody releases them it is the collector's as any other.
type released struct{}

// Allocate implements memory.Allocator.
func (released) Allocate(n int) []byte { return bufpool.Again(n) }

// Reallocate implements memory.Allocator.
func (released) Reallocate(n int, b []byte) []byte {
	if n <= cap(b) {
		return b[:n]
	}
	grown := bufpool.Again(n)
	copy(grown, b)
	bufpool.GiveBack(b)
	return grown
}

// Free implements memory.Allocator.
func (released) Free(b []byte) { bufpool.GiveBack(b) }

// room is memory for n values, to be written whole, as a buffer with one reference. T has no pointers and an alignment of eight at most.
func room[T any](n int) ([]T, *memory.Buffer) {
	var zero T
	b := bufpool.Again(n * int(unsafe.Sizeof(zero)))
	return view.Of[T](b, n), memory.NewBufferWithAllocator(b, released{})
}

// filled makes an array of fixed-width values, each computed from its index; nulls are those of a, and zero.
func filled[T any](t arrow.DataType, a arrow.Array, value func(i int) (T, error)) (arrow.Array, error) {
	out, buffer := room[T](a.Len())
	defer buffer.Release()
	hasNulls := a.NullN() > 0
	for i := range out {
		var v T
		if !hasNulls || a.IsValid(i) {
			var err error
			if v, err = value(i); err != nil {
				return nil, err
			}
		}
		out[i] = v
	}
	return assemble(t, a, []*memory.Buffer{buffer}), nil
}
