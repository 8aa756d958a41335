//go:build checked

package view

import (
	"encoding/binary"
	"fmt"
	"unsafe"
)

// Of is the first n values in b; it panics if b has fewer, or does not lie where such values may.
func Of[T any](b []byte, n int) []T {
	var zero T
	size := int(unsafe.Sizeof(zero))
	if n < 0 || size > 0 && n > len(b)/size {
		panic(fmt.Sprintf("view: %d values of %d bytes in %d bytes", n, size, len(b)))
	}
	if at := uintptr(unsafe.Pointer(unsafe.SliceData(b))); n > 0 && at%unsafe.Alignof(zero) != 0 {
		panic(fmt.Sprintf("view: values of %d bytes at address %#x", size, at))
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// Load64 is the eight bytes of b at a position; it panics if b has fewer.
func Load64(b []byte, at int) uint64 { return binary.LittleEndian.Uint64(b[at : at+8]) }
