package parquetchunk

import (
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/internal/budget"
)

// charged is an allocator that charges an account before it takes memory. Arrow has no way to refuse memory but a
// panic, which guarded turns into the account's error.
type charged struct {
	mem *budget.Account
	// refused is the account's error, kept because the library may wrap a panic into an error of its own.
	refused error
}

// exceeded is the panic of an allocator.
type exceeded struct{ error }

func (c *charged) take(n int) {
	if c.refused == nil && n > 0 {
		c.refused = c.mem.Take(uint64(n))
	}
	if c.refused != nil {
		panic(exceeded{c.refused})
	}
}

// Allocate implements memory.Allocator.
func (c *charged) Allocate(size int) []byte {
	c.take(size)
	return memory.DefaultAllocator.Allocate(size)
}

// Reallocate implements memory.Allocator.
func (c *charged) Reallocate(size int, b []byte) []byte {
	c.take(size - cap(b))
	return memory.DefaultAllocator.Reallocate(size, b)
}

// Free implements memory.Allocator.
func (c *charged) Free(b []byte) { memory.DefaultAllocator.Free(b) }
