// Package bufpool gives memory for bytes that are all written before anybody reads one, without the time that clearing it
// takes: as much as decoding or fetching them.
package bufpool

import (
	"strings"
	"unsafe"

	"github.com/shardcat/shardcat/internal/view"
)

// least is the size from which on clearing costs more than what is done here instead.
const least = 4 << 10

// Bytes gives n bytes, aligned to eight, that hold anything: the caller writes all of them, or lets go of them. The memory is
// the garbage collector's, as any slice's.
func Bytes(n int) []byte {
	if n < least {
		words := make([]uint64, (n+7)/8)
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))[:n]
	}
	var b strings.Builder // the only one in the standard library that gives memory uncleared
	b.Grow(n)
	b.WriteByte(0) // where there is nothing, String states nothing of the memory
	return unsafe.Slice(unsafe.StringData(b.String()), n)
}

// Of is Bytes for n values, which must be of a type without pointers that needs no more than an alignment of eight.
func Of[T any](n int) []T {
	var zero T
	return view.Of[T](Bytes(n*int(unsafe.Sizeof(zero))), n)
}
