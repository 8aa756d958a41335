package encode

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
)

// Bitmaps are written as the Roaring library writes them, from sparse to dense and across containers.
func TestRoaringIsTheLibrarys(t *testing.T) {
	const n = 150_000
	r := rand.New(rand.NewPCG(1, 2))
	for _, share := range []float64{0, 0.001, 0.05, 0.5, 0.999} {
		bm, bitmap := roaring.New(), make([]byte, n/8)
		for i := range n {
			if r.Float64() < share {
				bm.Add(uint32(i))
				bitmap[i/8] |= 1 << (i % 8)
			}
		}
		want, err := bm.ToBytes()
		if err != nil {
			t.Fatal(err)
		}
		if got := appendRoaring(nil, bitmap, n, 0); !bytes.Equal(got, want) {
			t.Errorf("share %v: %d bytes differ from the library's %d", share, len(got), len(want))
		}
		for i := range bitmap {
			bitmap[i] ^= 0xff
		}
		if got := appendRoaring(nil, bitmap, n, 0xff); !bytes.Equal(got, want) {
			t.Errorf("share %v, flipped: %d bytes differ from the library's %d", share, len(got), len(want))
		}
	}
}
