package encode

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/pierrec/lz4/v4"
)

func checkLZ4(t *testing.T, z *lz4Encoder, text []byte) {
	t.Helper()
	out := z.compress(nil, text)
	if len(out) > lz4Bound(len(text)) {
		t.Fatalf("%d bytes became %d, more than the bound %d", len(text), len(out), lz4Bound(len(text)))
	}
	back := make([]byte, len(text))
	n, err := lz4.UncompressBlock(out, back)
	if err != nil || !bytes.Equal(back[:n], text) {
		t.Fatalf("%d bytes, read back %d, %v", len(text), n, err)
	}
}

// Texts that repeat at all distances, one after the other with the tables kept.
func TestLZ4(t *testing.T) {
	z := new(lz4Encoder)
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		text := make([]byte, 0, 4096)
		for len(text) < r.IntN(4096) {
			if len(text) > 0 && r.IntN(2) == 0 {
				from := r.IntN(len(text))
				text = append(text, text[from:min(len(text), from+r.IntN(40))]...)
				continue
			}
			for range r.IntN(20) {
				text = append(text, byte(r.IntN(1+r.IntN(256))))
			}
		}
		checkLZ4(t, z, text)
	}
	for _, n := range []int{0, 1, 5, 11, 12, 13, 14, 15, 16, 255 + 15, 70, 1 << 17, 1<<20 + 3} {
		checkLZ4(t, z, make([]byte, n))
	}
}

// Positions lie in the tables modulo 2^16: what is as far away as that, or farther, is no match, and texts of before leave nothing.
func TestLZ4BeyondTheWindow(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	part := make([]byte, 100)
	for i := range part {
		part[i] = byte(r.Uint32())
	}
	z := new(lz4Encoder)
	for _, apart := range []int{lz4Window - 1, lz4Window, lz4Window + 1, lz4Window + 2, 2 * (lz4Window + 1), 3*lz4Window + 7} {
		text := append(append(make([]byte, 0, apart+len(part)), part...), make([]byte, apart-len(part))...)
		once := len(z.compress(nil, text))
		text = append(text, part...)
		checkLZ4(t, z, text)
		made, fresh := z.compress(nil, text), new(lz4Encoder).compress(nil, text)
		if !bytes.Equal(made, fresh) {
			t.Errorf("%d apart: an earlier text made a difference", apart)
		}
		if known := len(made) < once+len(part)/2; known != (apart <= lz4Window) {
			t.Errorf("%d apart: %d bytes became %d, %d without the repeated ones", apart, len(text), len(made), once)
		}
	}
}
