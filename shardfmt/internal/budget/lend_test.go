package budget

import (
	"testing"
	"unsafe"
)

// Memory that was lent is lent again after the batch, and only where that was requested; what a batch had no use for is let
// go of.
func TestLend(t *testing.T) {
	place := func(b []byte) *byte { return unsafe.SliceData(b) }
	a := New(0).Account()
	first := a.Lend(100)
	a.NextBatch(false)
	if place(a.Lend(100)) == place(first) {
		t.Error("memory of a batch that somebody may keep came again")
	}
	a.Reuse()
	large, small := a.Lend(1000), a.Lend(10)
	if place(large) == place(small) || len(large) != 1000 || len(small) != 10 {
		t.Error("one memory for two")
	}
	a.NextBatch(false)
	if place(a.Lend(9)) != place(small) || place(a.Lend(900)) != place(large) || place(a.Lend(900)) == place(large) {
		t.Error("the least memory that suffices comes again, and only once")
	}
	a.NextBatch(false)
	a.Lend(10)
	a.NextBatch(false)
	if place(a.Lend(900)) == place(large) {
		t.Error("memory that a batch had no use for was kept")
	}
	if n := testing.AllocsPerRun(10, func() {
		a.Lend(900)
		a.Lend(10)
		a.NextBatch(false)
	}); n > 0 {
		t.Errorf("%v allocations for a batch like the one before", n)
	}
	var none *Account
	none.Reuse()
	if b := LendOf[uint64](none, 3); len(b) != 3 {
		t.Error("without an account")
	}
}

// What is lent to the end comes again after Settle, and not before.
func TestLendToEnd(t *testing.T) {
	const n = 40 << 10
	again := 0
	for range 200 { // a pool may let go of memory at any time
		a := New(1 << 20).Account()
		b := a.LendToEnd(n)
		a.NextBatch(false)
		if c := a.LendToEnd(n); unsafe.SliceData(c) == unsafe.SliceData(b) {
			t.Fatal("memory that a reader keeps came again")
		}
		a.Settle()
		for range 2 {
			if c := a.LendToEnd(n); unsafe.SliceData(c) == unsafe.SliceData(b) {
				again++
			}
		}
	}
	if again == 0 {
		t.Error("no memory came again")
	}
}
