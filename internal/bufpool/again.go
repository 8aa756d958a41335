package bufpool

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// Memory that is given back is kept for the caller next, so that a scan of some milliseconds does not begin with the pages and the
// collections of garbage that new memory costs: several times what decoding into it does. It is kept by size class, four to a
// power of two, and what was given back last comes first. What nobody has requested in some seconds is the collector's again
// with the next collection of garbage, of which there is one every two minutes in a process that rests.

const (
	// Memory of less than leastKept bytes is cheap as it is; as much as mostKept is so seldom needed that a pool of it is waste.
	leastKept, mostKept = 4 << 10, 64 << 20
	// mostInAll is how many bytes are kept at most: those of two scans that hold as much as a scan may (128 MiB).
	mostInAll = 256 << 20
	// keptFor is how long memory is kept for the caller: as long as jemalloc, by default, keeps pages of what was freed.
	keptFor = 10 * time.Second
	// steps are the classes of a power of two: memory is at most a quarter larger than it was requested, and slack.
	steps = 4
	// slack is what the memory of a class has besides, so that an offset more than there are values does not take the next one.
	slack = 64
)

var (
	leastClass, mostClass = class(leastKept), class(mostKept)
	kept                  = make([]shelf, mostClass-leastClass+1)
	inAll                 atomic.Int64 // bytes that are kept
	// spoil is what memory is filled with when it is given back, where tests look for those who read it later.
	spoil *byte
	// ahead is what a test puts the clock forward by.
	ahead atomic.Int64
	// sweeping makes every collection of garbage look through what is kept, from the first that is.
	sweeping sync.Once
)

// now is the time by which memory grows old.
func now() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }

// shelf has the memory of a class that is kept, what was given back last behind the others.
type shelf struct {
	mu   sync.Mutex
	list []offer
}

// offer is memory, by its first byte, and when it was given back.
type offer struct {
	first *byte
	since time.Time
}

// take gives what was given back last, nil if there is nothing.
func (s *shelf) take(size int) *byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.list) - 1
	if last < 0 {
		return nil
	}
	first := s.list[last].first
	s.list[last].first = nil
	s.list = s.list[:last]
	inAll.Add(int64(-size))
	return first
}

// put keeps memory, unless there is too much.
func (s *shelf) put(first *byte, size int) {
	if inAll.Add(int64(size)) > mostInAll {
		inAll.Add(int64(-size))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, offer{first, now()})
}

// drop lets go of what was given back before a time.
func (s *shelf) drop(before time.Time, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := 0
	for old < len(s.list) && s.list[old].since.Before(before) {
		old++
	}
	rest := copy(s.list, s.list[old:])
	clear(s.list[rest:])
	s.list = s.list[:rest]
	inAll.Add(int64(-size * old))
}

// dropBefore lets go of all that was given back before a time.
func dropBefore(t time.Time) {
	for i := range kept {
		kept[i].drop(t, sizeOf(leastClass+i))
	}
}

// sweep drops what nobody has requested, now and after every collection of garbage: its argument is garbage by then.
func sweep(*[16]byte) {
	dropBefore(now().Add(-keptFor))
	runtime.SetFinalizer(new([16]byte), sweep)
}

// class is the least size class of n bytes, which are at least steps.
func class(n int) int {
	n = max(n-slack, steps) - 1 // the last byte
	power := bits.Len(uint(n)) - 1
	return power*steps + n>>(power-2)&(steps-1) + 1
}

// sizeOf is how many bytes memory of a class has: from 2ᵏ on in steps of a quarter of that, and slack.
func sizeOf(class int) int { return (steps+class%steps)<<(class/steps)/steps + slack }

// Again is Bytes of memory that may have been given back before. Whoever lets go of it may give it back by GiveBack.
func Again(n int) []byte {
	if n < leastKept || n > mostKept {
		return Bytes(n)
	}
	c := class(n)
	if first := kept[c-leastClass].take(sizeOf(c)); first != nil {
		return unsafe.Slice(first, sizeOf(c))[:n]
	}
	return Bytes(sizeOf(c))[:n]
}

// GiveBack gives back what Again gave, from its first byte on: nobody may look at it from now on.
func GiveBack(b []byte) {
	n := cap(b)
	if spoil != nil { // whether it is kept or not
		b = b[:n]
		for i := range b {
			b[i] = *spoil
		}
	}
	if n < leastKept || n > mostKept+slack {
		return
	}
	c := class(n)
	if sizeOf(c) != n || c > mostClass {
		return // of no class
	}
	sweeping.Do(func() { sweep(nil) })
	kept[c-leastClass].put(unsafe.SliceData(b), n)
}

// Forget lets go of all that is kept, for who counts the memory that is in use.
func Forget() { dropBefore(now().Add(1)) }

// Spoil fills what is given back from now on, so that tests see who reads it later.
func Spoil(with byte) { spoil = &with }

// StopSpoiling ends what Spoil began, for who measures, until again is called.
func StopSpoiling() (again func()) {
	was := spoil
	spoil = nil
	return func() { spoil = was }
}
