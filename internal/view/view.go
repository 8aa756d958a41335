//go:build !checked

package view

import (
	"encoding/binary"
	"unsafe"
)

// Of is the first n values in b, which has as many: callers have compared n with len(b).
func Of[T any](b []byte, n int) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// Load64 is the eight bytes of b at a position, which has as many: callers have compared at with len(b)-8.
func Load64(b []byte, at int) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), at))[:])
}
