package budget

import (
	"testing"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// What buffers lie in is theirs until the last of them is released, wherever they begin in it; what they don't is lent again.
func TestGive(t *testing.T) {
	place := func(b []byte) *byte { return unsafe.SliceData(b) }
	a := New(0).Account()
	a.Reuse()
	const n = 100_000 // which is kept when it is given back
	given, temporary := a.Lend(n), a.Lend(n)
	other := make([]byte, n)
	g := a.Give()
	first, second := g.Buffer(memory.NewBufferBytes(given)), g.Buffer(memory.NewBufferBytes(given[n-1:]))
	plain := memory.NewBufferBytes(other)
	if g.Buffer(plain) != plain || g.Buffer(nil) != nil {
		t.Error("a buffer of other memory was made anew")
	}
	pieces := g.given
	g.Close()
	a.NextBatch(false)
	if place(a.Lend(n)) != place(temporary) {
		t.Error("memory that no buffer lies in is not lent again")
	}
	if place(a.Lend(n)) == place(given) {
		t.Fatal("memory of a batch is lent to the next one")
	}
	given[0], given[n-1] = 1, 2
	first.Retain()
	first.Release()
	second.Release()
	if p := first.Bytes(); len(p) != n || p[0] != 1 || p[n-1] != 2 || place(p) != place(given) {
		t.Fatal("the memory of a buffer that is referred to has gone")
	}
	first.Release()
	for i := range pieces {
		p := &pieces[i]
		if p.buffers.Load() != 0 {
			t.Errorf("%d buffers after the last one was released", p.buffers.Load())
		}
	}
	if first.Len() != 0 {
		t.Error("a buffer has bytes after its last reference")
	}
	a.Settle()
	var none *Account
	if none.Give() != nil || New(0).Account().Give() != nil {
		t.Error("memory that is not used again was given")
	}
}

// A buffer that is made larger leaves the memory it was in alone.
func TestGrownBuffer(t *testing.T) {
	a := New(0).Account()
	a.Reuse()
	lent := a.Lend(8)
	copy(lent, "12345678")
	g := a.Give()
	b := g.Buffer(memory.NewBufferBytes(lent))
	pieces := g.given
	g.Close()
	b.Resize(1000)
	copy(b.Bytes(), "abcdefgh")
	if string(lent) != "12345678" || len(b.Bytes()) != 1000 {
		t.Errorf("%q, %d bytes", lent, len(b.Bytes()))
	}
	b.Release()
	if pieces[0].buffers.Load() != 0 {
		t.Error("the memory has a buffer yet")
	}
}
