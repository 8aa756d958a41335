package bufpool

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
	"unsafe"
)

// A class has space for what is of it, and at most a quarter more; its own size is of it.
func TestClasses(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 100_000 {
		n := leastKept + r.IntN(mostKept-leastKept+1)
		if i < 2 {
			n = [...]int{leastKept, mostKept}[i]
		}
		c := class(n)
		if size := sizeOf(c); size < n || size > n+n/4+slack || class(size) != c || c < leastClass || c > mostClass {
			t.Fatalf("%d bytes: class %d of %d bytes", n, c, size)
		}
	}
}

// Memory that was given back comes again, spoiled where that is requested, and never while somebody has it: of several what
// was given back last.
func TestAgain(t *testing.T) {
	defer func() { spoil = nil }()
	Spoil(0x5A)
	const n = 100_000
	a, b := Again(n), Again(n)
	if len(a) != n || unsafe.SliceData(a) == unsafe.SliceData(b) {
		t.Fatalf("%d bytes, the same twice: %v", len(a), unsafe.SliceData(a) == unsafe.SliceData(b))
	}
	a[0], b[0] = 1, 2
	GiveBack(a)
	if a[0] != 0x5A || a[n-1] != 0x5A || b[0] != 2 {
		t.Fatal("what was given back is not spoiled, or what was not is")
	}
	GiveBack(b)
	first, second := Again(n+1), Again(n-1)
	if unsafe.SliceData(first) != unsafe.SliceData(b) || unsafe.SliceData(second) != unsafe.SliceData(a) {
		t.Error("what was given back did not come again, the last first")
	}
	Forget()
	if inAll.Load() != 0 {
		t.Errorf("%d bytes are kept after all came again or were forgotten", inAll.Load())
	}
}

// What nobody requests goes when it is old, with a collection of garbage, and what is requested stays.
func TestDrop(t *testing.T) {
	Forget()
	defer ahead.Store(0)
	const n = 1 << 20
	old, young := Again(n), Again(n)
	GiveBack(old)
	between := now()
	ahead.Store(int64(keptFor / 2))
	GiveBack(young)
	dropBefore(between.Add(-keptFor))
	if inAll.Load() != 2*(n+slack) {
		t.Fatalf("%d bytes are kept", inAll.Load())
	}
	dropBefore(between.Add(1))
	if inAll.Load() != n+slack || unsafe.SliceData(Again(n)) != unsafe.SliceData(young) {
		t.Error("the old one has stayed, or the young one has gone")
	}
	GiveBack(old)
	ahead.Store(int64(2 * keptFor))
	for end := time.Now().Add(time.Minute); inAll.Load() > 0; runtime.GC() {
		if time.Now().After(end) {
			t.Fatal("collections of garbage leave old memory")
		}
		time.Sleep(time.Millisecond)
	}
}

// No more is kept than there may be.
func TestMostIsKept(t *testing.T) {
	defer Forget()
	var all [][]byte
	for range 2 * mostInAll / mostKept {
		all = append(all, Again(mostKept))
	}
	for _, b := range all {
		GiveBack(b)
	}
	if most := inAll.Load(); most > mostInAll || most < mostInAll-mostKept-slack {
		t.Errorf("%d bytes are kept, of %d at most", most, mostInAll)
	}
}

// Memory of no class, too small or too large, is never kept.
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
