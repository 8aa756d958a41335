package bufpool

import (
	"runtime"
	"testing"
	"unsafe"
)

// Memory has its size, is aligned, and belongs to nobody else, also after collections of garbage.
func TestBytes(t *testing.T) {
	var all [][]byte
	for i, n := range []int{0, 1, 7, 8, least - 1, least, least + 1, 40_000, 1 << 20, 1<<20 + 3} {
		b := Bytes(n)
		if len(b) != n || uintptr(unsafe.Pointer(unsafe.SliceData(b)))%8 != 0 {
			t.Fatalf("%d bytes: %d at %p", n, len(b), b)
		}
		for k := range b {
			b[k] = byte(i)
		}
		all = append(all, b)
		runtime.GC()
	}
	for i, b := range all {
		for k, v := range b {
			if v != byte(i) {
				t.Fatalf("byte %d of %d was overwritten", k, len(b))
			}
		}
	}
	if v := Of[uint64](1000); len(v) != 1000 {
		t.Errorf("%d values", len(v))
	}
}

// Memory is one allocation, and is not cleared: large memory that was used before comes back as it was.
func TestBytesAreNotCleared(t *testing.T) {
	if n := testing.AllocsPerRun(20, func() { sink = Bytes(1 << 16) }); n != 1 {
		t.Errorf("%v allocations", n)
	}
	sink = nil
	for range 200 {
		b := Bytes(1 << 16)
		for _, v := range b {
			if v == 0xA5 {
				return
			}
		}
		for k := range b {
			b[k] = 0xA5
		}
		runtime.GC()
	}
	t.Error("memory was never seen as it had been left")
}

var sink []byte
