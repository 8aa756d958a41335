package uncleared

import (
	"math/rand/v2"
	"testing"
	"unsafe"
)

// A class has room for what is of it, and at most a quarter more; its own size is of it.
func TestClasses(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 100_000 {
		n := leastKept + r.IntN(mostKept-leastKept+1)
		if i < 2 {
			n = [...]int{leastKept, mostKept}[i]
		}
		c := class(n)
		if size := sizeOf(c); size < n || size > n+n/4 || class(size) != c || c < leastClass || c > mostClass {
			t.Fatalf("%d bytes: class %d of %d bytes", n, c, size)
		}
	}
}

// Memory that was given back comes again, spoiled where that is asked for, and never while somebody has it.
func TestAgain(t *testing.T) {
	defer func() { spoil = nil }()
	Spoil(0x5A)
	const n = 100_000
	again := 0
	for range 200 { // a pool may let go of memory at any time
		a, b := Again(n), Again(n)
		first := unsafe.SliceData(a)
		if len(a) != n || first == unsafe.SliceData(b) {
			t.Fatalf("%d bytes, the same twice: %v", len(a), first == unsafe.SliceData(b))
		}
		a[0], b[0] = 1, 2
		GiveBack(a)
		if a[0] != 0x5A || a[n-1] != 0x5A || b[0] != 2 {
			t.Fatal("what was given back is not spoiled, or what was not is")
		}
		if c := Again(n + 1); unsafe.SliceData(c) == first {
			again++
		}
	}
	if again == 0 {
		t.Error("no memory came again")
	}
}

// Memory that is no class's, too small or too large, is never kept.
func TestNotKept(t *testing.T) {
	for _, n := range []int{0, 1, leastKept - 1, mostKept + 1} {
		if b := Again(n); len(b) != n {
			t.Fatalf("%d bytes of %d", len(b), n)
		}
	}
	b := make([]byte, leastKept+1)
	for range 100 {
		GiveBack(b)
		if unsafe.SliceData(Again(leastKept+1)) == unsafe.SliceData(b) {
			t.Fatal("memory of less than its class was kept")
		}
	}
}
