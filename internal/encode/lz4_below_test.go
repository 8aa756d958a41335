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
