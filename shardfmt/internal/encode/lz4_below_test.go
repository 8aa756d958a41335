package encode

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// A limit leaves out only what comes to it or more, and what is made below it is what is made without, before and after.
func TestLZ4Below(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	var free, bounded lz4Encoder
	left := 0
	for range 3000 {
		text := make([]byte, r.IntN(3000))
		for i := range text {
			text[i] = byte(r.IntN(1 + r.IntN(40)))
		}
		want := free.compress(nil, text)
		limit := r.IntN(len(text) + 2)
		got := bounded.compressBelow(nil, text, limit)
		if got == nil {
			left++
			if len(want) < limit {
				t.Fatalf("%d bytes are below %d", len(want), limit)
			}
		} else if !bytes.Equal(got, want) {
			t.Fatalf("%d bytes, %d without a limit", len(got), len(want))
		}
	}
	if left < 500 {
		t.Fatalf("only %d were left out", left)
	}
}

// Of a long text that is as good for LZ4 everywhere nothing is left out that comes to less than the limit, and what is hopeless costs
// a part of its length: most of the tables stay empty.
func TestLZ4BelowInPart(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 6))
	var free, bounded lz4Encoder
	early := 0
	for range 200 {
		words := make([][]byte, 1+r.IntN(2000))
		for i := range words {
			words[i] = make([]byte, 4+r.IntN(12))
			for j := range words[i] {
				words[i][j] = byte(r.Uint32())
			}
		}
		var text []byte
		for size := lz4LeastParted + r.IntN(200_000); len(text) < size; {
			text = append(text, words[r.IntN(len(words))]...)
		}
		want := free.compress(nil, text)
		if got := bounded.compressBelow(nil, text, len(want)+1+len(want)/20); !bytes.Equal(got, want) {
			t.Fatalf("%d bytes of %d are left out, or others", len(want), len(text))
		}
		if got := bounded.compressBelow(nil, text, len(want)/3); got != nil {
			t.Fatalf("%d bytes are taken for a third", len(got))
		}
		places := func(z *lz4Encoder) (n int) {
			for _, p := range z.long[:1<<(64-z.shift)] {
				n += min(1, int(p))
			}
			return n
		}
		if places(&bounded) < places(&free)*3/4 {
			early++
		}
	}
	if early < 150 {
		t.Fatalf("only %d texts of 200 were left early", early)
	}
}
