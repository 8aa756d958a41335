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

// The tables are cleared before positions overflow.
func TestLZ4BaseOverflow(t *testing.T) {
	z := new(lz4Encoder)
	checkLZ4(t, z, []byte("some text that repeats: some text that repeats"))
	z.base = 1<<31 - 100
	for range 4 {
		checkLZ4(t, z, []byte("some text that repeats: some text that repeats"))
	}
	if z.base > 1<<24 {
		t.Errorf("base is still %d", z.base)
	}
}
