package uncleared

import (
	"math/bits"
	"sync"
	"unsafe"
)

// Memory that is given back is kept for who asks next, so that a scan of a second does not begin with the pages and the
// collections of garbage that new memory costs: several times what decoding into it does. It is kept by size class, four to a
// power of two, each in a sync.Pool: what nobody asks for until the second collection after is the collector's again. So no
// more is kept than was in use at the same time, and a process that rests lets go of it.

const (
	// Memory of less than leastKept bytes is cheap as it is; as much as mostKept is so seldom needed that a pool of it is waste.
	leastKept, mostKept = 4 << 10, 64 << 20
	// steps are the classes of a power of two: memory is at most a quarter larger than it was asked for.
	steps = 4
)

var (
	leastClass, mostClass = class(leastKept), class(mostKept)
	kept                  = make([]sync.Pool, mostClass-leastClass+1)
	// spoil is what memory is filled with when it is given back, where tests look for those who read it later.
	spoil *byte
)

// class is the least size class of n bytes, which are at least steps.
func class(n int) int {
	n-- // the last byte
	power := bits.Len(uint(n)) - 1
	return power*steps + n>>(power-2)&(steps-1) + 1
}

// sizeOf is how many bytes memory of a class has: from 2ᵏ on in steps of a quarter of that.
func sizeOf(class int) int { return (steps + class%steps) << (class / steps) / steps }

// Again is Bytes of memory that may have been given back before. Whoever lets go of it may give it back by GiveBack.
func Again(n int) []byte {
	if n < leastKept || n > mostKept {
		return Bytes(n)
	}
	c := class(n)
	if first, _ := kept[c-leastClass].Get().(*byte); first != nil {
		return unsafe.Slice(first, sizeOf(c))[:n]
	}
	return Bytes(sizeOf(c))[:n]
}

// GiveBack gives back what Again gave, from its first byte on: nobody may look at it from now on.
func GiveBack(b []byte) {
	n := cap(b)
	if n < leastKept || n > mostKept {
		return
	}
	c := class(n)
	if sizeOf(c) != n {
		return // of no class
	}
	if spoil != nil {
		b = b[:n]
		for i := range b {
			b[i] = *spoil
		}
	}
	kept[c-leastClass].Put(unsafe.SliceData(b))
}

// Spoil fills what is given back from now on, so that tests see who reads it later.
func Spoil(with byte) { spoil = &with }
